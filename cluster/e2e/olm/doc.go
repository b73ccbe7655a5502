// Package olm holds black-box tests of the built provider with the Operator Lifecycle Manager: Objects for a
// Subscription, the ClusterServiceVersion it leads to, and a resource of the operator which that installs. They are
// installed in this order and uninstalled in reverse, and leave nothing. The package runs by make e2e only, as OLM and
// KWOK take minutes to build.
//
// OLM, its catalog and the controllers of Kubernetes are real. KWOK plays the node, so that the Deployment of the
// operator becomes available; what its containers would do is done by the test (operator_test.go), with a finalizer on
// each Kong: if the operator goes before the Kong, the Kong stays and the test fails. What came first is read from the
// resource versions of the target, not from the requests of the provider.
//
// What users are shown as capabilities is installed in the same way, by a real Crossplane 2 (stacks_test.go), with OLM
// and without. It installs the Configurations from a registry, and asks functions: auto-ready is the real one, in a
// process of its own; patch-and-transform and go-templating cannot be had, and are as far as needed in package
// crossplane. The guide of Compositions runs where Crossplane runs already (composition_guide_test.go).
//
// # What OLM 0.42 does
//
// It was tried by hand, without a provider; the tests and the Objects rest on it.
//
//   - A Subscription has status.currentCSV in half a second, and its ClusterServiceVersion is Succeeded after two. The
//     InstallPlan is Complete a second or two later: OLM runs its steps one by one at five requests a second.
//   - OLM runs the steps of an InstallPlan more than once. For some seconds, in rare cases fifteen, it repeats what it
//     has done and changes the status of the Subscription to and fro. A ClusterServiceVersion that is deleted meanwhile
//     is made again, at once or a second later, and so are its ServiceAccount and cluster-wide rights: in two of three
//     uninstalls right after an install, in one of eight after the Subscription says AtLatestKnown, whether it is
//     deleted before the ClusterServiceVersion or after. Thus awaitRest.
//   - With OLM at rest, a ClusterServiceVersion that is deleted stays away although its Subscription lives, until
//     another Subscription of the namespace is made or changed. Then OLM resolves all of them, and makes it again, also
//     for a Subscription that is being deleted.
//   - What is made again by an InstallPlan that is under way when the Subscription goes is nobody's. Rights without an
//     operator may stay, and a ClusterServiceVersion that stays keeps the next Subscription from ever having a
//     currentCSV.
//   - The InstallPlan is owned by the Subscription and goes with it; what belongs to the operator goes with the
//     ClusterServiceVersion. By design the CustomResourceDefinition stays, with the rights on its kind and an Operator
//     that lists it.
//   - With an OperatorGroup for all namespaces a copy of the ClusterServiceVersion is in each of them. It goes with the
//     original.
//
// # How Objects cope with it
//
// An Object that deletes what it does not make waits for the deletion of the Objects it has referred to before it goes.
// Until then it knows its resource by name, not by UID, and deletes it as often as it appears. So nothing stays of what
// OLM makes while the Subscription is there. What OLM makes after that is beyond an Object: uninstall what has come to
// rest.
//
// # Decisions
//
//   - There is no scheduler: the pods of a bundle name their node, and those of capabilities without OLM are bound by
//     the test. One more server for that was not worth it.
//   - Each test with a Crossplane has a control plane of its own: Crossplane leaves much behind. Make e2e runs these
//     tests beside the others, with an OLM of their own, as both mostly wait. Claims for networking go ten times in a
//     row, others less often unless E2E_ROUNDS says so.
//   - Bundles are inlined in the catalog, from readable files in testdata/bundles, as nothing here pulls images.
//   - Nothing is left means that a list of all resources of all kinds is what it was before, on both clusters. A list
//     of kinds that OLM is known to make would miss those it is not known to make.
//   - The garbage collector needs up to half a minute to learn of new kinds, so the first round of a chain takes longer
//     than the others.
//   - Both operators of OLM want port 8080 for metrics, on all addresses, and cannot be told otherwise. Whichever does
//     not get it goes on.
package olm
