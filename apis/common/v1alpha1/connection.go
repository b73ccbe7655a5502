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
}
