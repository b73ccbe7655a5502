package v1alpha1

// A Connection is what a ProviderConfig says, and by whose word.
//
// +kubebuilder:object:generate=false
type Connection struct {
	// Spec of the ProviderConfig.
	Spec *ProviderConfigSpec
	// Tenant is the namespace of the ProviderConfig. Anyone who can write there is not trusted with the provider's own
	// credentials. It is empty for a cluster-scoped ProviderConfig, which operators write.
	Tenant string
	// Shared is set if it is a ClusterProviderConfig, which resources of several namespaces may use.
	Shared *Sharing
}

// A Sharing says who may use a ClusterProviderConfig.
type Sharing struct {
	// Name of the ClusterProviderConfig.
	Name string
	// Allowed are the namespaces whose resources may use it. Nil means that it does not say; an empty list allows none.
	Allowed []AllowedNamespaces
}
