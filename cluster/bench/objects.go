package main

import (
	"encoding/json"
	"fmt"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// config is the name of the ProviderConfig and of its Secret.
const config = "target"

// The field that drift changes, and what our ConfigMaps say there.
const (
	driftKey   = "color"
	driftValue = "blue"
)

// named returns the name of the i-th Object of a phase, and of its ConfigMap.
func named(phase string, i int) string { return fmt.Sprintf("%s-%d", phase, i) }

// newConfigMap returns a ConfigMap as small applications have it.
func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "bench"}},
		Data: map[string]string{
			driftKey:      driftValue,
			"application": name,
			"settings": "level: info\nreplicas: 3\nlisten: 0.0.0.0:8080\n" +
				"upstream: https://api.example.org/v1\ntimeout: 30s\n",
		},
	}
}

// newObject returns an Object that keeps a ConfigMap of its own name through a ProviderConfig.
func (b *bed) newObject(name, providerConfig string) (*objectv1alpha2.Object, error) {
	return b.newObjectOf(newConfigMap(name), providerConfig)
}

// newObjectOf returns an Object of the same name as the ConfigMap that it keeps.
func (b *bed) newObjectOf(cm *corev1.ConfigMap, providerConfig string) (*objectv1alpha2.Object, error) {
	manifest, err := json.Marshal(cm)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode manifest")
	}
	o := &objectv1alpha2.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: objectv1alpha2.GroupVersion.String(), Kind: commonv1.ObjectKind},
		ObjectMeta: metav1.ObjectMeta{Name: cm.Name},
	}
	o.Spec.ProviderConfigReference = &xpv2.Reference{Name: providerConfig}
	o.Spec.Watch = b.options.watch
	o.Spec.ForProvider.Manifest = runtime.RawExtension{Raw: manifest}
	return o, nil
}

// newConfig returns a ProviderConfig and its Secret, which has the same name.
func newConfig(name string, kubeconfig []byte) (*pcv1alpha1.ProviderConfig, *corev1.Secret) {
	spec := commonv1.ProviderConfigSpec{Credentials: commonv1.ProviderCredentials{
		Source: xpv2.CredentialsSourceSecret,
		CommonCredentialSelectors: xpv2.CommonCredentialSelectors{SecretRef: &xpv2.SecretKeySelector{
			SecretReference: xpv2.SecretReference{Namespace: namespace, Name: name}, Key: "kubeconfig",
		}},
	}}
	return &pcv1alpha1.ProviderConfig{
			TypeMeta:   metav1.TypeMeta{APIVersion: pcv1alpha1.GroupVersion.String(), Kind: "ProviderConfig"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       spec,
		}, &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Data:       map[string][]byte{"kubeconfig": kubeconfig},
		}
}
