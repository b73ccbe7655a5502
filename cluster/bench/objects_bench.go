package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
)

// namespace is that of the Secret on the control plane, and of all ConfigMaps on the target.
const namespace = "bench"

var (
	objects         = objectv1alpha2.GroupVersion.WithResource("objects")
	providerConfigs = pcv1alpha1.GroupVersion.WithResource("providerconfigs")
	configMaps      = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets         = corev1.SchemeGroupVersion.WithResource("secrets")
	namespaces      = corev1.SchemeGroupVersion.WithResource("namespaces")
)

// An objectsBench measures Objects, which are on a control plane and keep ConfigMaps on a target.
type objectsBench struct {
	*bed

	target *server
	got    results
}

// newObjectsBench starts two clusters.
func newObjectsBench(ctx context.Context, o options) (part, error) {
	control, target := &server{name: "control plane"}, &server{name: "target"}
	b, err := newBed(o, control, control, target)
	if err != nil {
		return nil, err
	}
	p := &objectsBench{bed: b, target: target, got: results{n: o.n}}
	if err := p.start(ctx, b.cluster(control), b.cluster(target)); err != nil {
		return p, err
	}
	return p, p.prepare(ctx)
}

// prepare makes what has to be on the servers before a provider starts.
func (b *bed) prepare(ctx context.Context) error {
	if err := b.installCRDs(); err != nil {
		return err
	}
	for _, s := range b.servers {
		if err := s.create(ctx, namespaces, &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
		}); err != nil {
			return err
		}
	}
	return nil
}
