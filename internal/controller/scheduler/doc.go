// Package scheduler chooses a cluster for each KubernetesApplication that has none.
//
// It watches KubernetesApplications and the ProviderConfigs they may be scheduled to. It writes spec.clusterRef of an
// application once, the record that the application uses that ProviderConfig, the status of an application that waits
// for a cluster, and events. It asks each cluster it considers what it serves, with the credentials.
//
// # Decisions
//
// The ProviderConfigs in the namespace of an application and all ClusterProviderConfigs that allow it are considered
// whose labels the selector matches, and which are not being deleted. The one that the fewest applications are
// scheduled to is chosen; among those, one of the namespace, and the first by name. So the choice depends on nothing
// that a restart forgets.
//
// A cluster that does not answer the credentials now is passed over, and if none answers the application waits, as the
// choice is final. It is connected to what it waits for, and is woken when one answers.
//
// Applications are scheduled one at a time, each counts for the next. A cluster is asked meanwhile, and counts, too, so
// that a slow one holds nothing but workers of its tenant.
//
// The use is recorded before the choice is written, so that a ProviderConfig cannot go in between.
//
// An application that is scheduled stays where it is, whatever becomes of the labels. To move it would mean to delete
// all it has there.
package scheduler
