// Package namespace_test shows what becomes of Objects whose namespace goes, on a control plane with a real namespace
// controller and a real garbage collector.
package namespace_test

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	targets "github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

var (
	local  = kube.Server{ControllerManager: true}
	target kube.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// provide starts a provider with --restrict-cluster-provider-configs, once for all tests.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../../package/crds", func(o *targets.Options) {
		o.RestrictClusterConfigs = true
	})
}

// A tenant is a namespace with a connection and some Objects. Each Object keeps a ConfigMap.
type tenant struct {
	namespace, target string
	config            client.Object
	objects           []build.Object
}

// settle makes a tenant whose Objects are all ready.
func settle(t *testing.T, c client.Client) tenant {
	t.Helper()
	const count = 5
	s, ns, tns := build.Namespaced(), local.Namespace(t), target.Namespace(t)
	tn := tenant{namespace: ns, target: tns, config: s.Config(ns, ns, build.FromSecret(ns, "credentials"))}
	kubeconfig := kube.Kubeconfig(t, target.User(t, "provider", "system:masters"))
	kube.Create(t, c, build.Credentials(ns, "credentials", kubeconfig), tn.config)
	for i := range count {
		n := fmt.Sprintf("%s-%d", tns, i)
		tn.objects = append(tn.objects, s.Object(ns, n, ns, build.ConfigMap(tns, n)))
		kube.Create(t, c, tn.objects[i])
	}
	for _, o := range tn.objects {
		provider.AwaitReady(t, c, o)
	}
	return tn
}

// remove deletes the namespace of a tenant, and checks that nothing it has made is left on the target.
func (tn tenant) remove(t *testing.T, c client.Client) {
	t.Helper()
	kube.Remove(t, c, &corev1.Namespace{ObjectMeta: build.Meta("", tn.namespace)})
	left := &corev1.ConfigMapList{}
	kube.List(t, target.Client(t), left, client.InNamespace(tn.target), client.HasLabels{commonv1.LabelKeyManaged})
	if len(left.Items) > 0 {
		t.Errorf("want nothing left on the target, got %v", left.Items)
	}
}

// TestNamespaceDeleted shows that a namespace with a Secret, a ProviderConfig and Objects goes at once, and that its
// resources on the target go with it, in whichever order the namespace controller takes its content.
//
// Objects of provider-kubernetes keep their namespace for good, as nothing can connect in it any more (its #440).
func TestNamespaceDeleted(t *testing.T) {
	c := provide(t)
	settle(t, c).remove(t, c)
}
