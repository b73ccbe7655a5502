package e2e_test

import (
	"context"
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A fleet is many Objects, of both scopes in turn, each with a ConfigMap of its own in one namespace of the target.
type fleet struct {
	objects   []build.Object
	namespace string // on the target
}

// newFleet makes what Objects need, a ProviderConfig of each scope and a namespace on the target, and returns n of
// them. They are not created yet.
func newFleet(t *testing.T, c client.Client, n int) fleet {
	t.Helper()
	scopes := build.Scopes()
	ns := credentials(t, c)
	for _, s := range scopes {
		connect(t, c, s, ns)
	}
	f := fleet{namespace: targetNamespace(t)}
	for i := range n {
		name := fmt.Sprintf("%s-%d", f.namespace, i)
		manifest := build.ConfigMap(f.namespace, name, "color", "blue")
		f.objects = append(f.objects, scopes[i%len(scopes)].Object(ns, name, ns, manifest))
	}
	return f
}

// targetNamespace makes a namespace of the target, whose ConfigMaps go at the end of the test. Without a controller
// manager they would stay, and the watches of the next provider would carry them.
func targetNamespace(t *testing.T) string {
	t.Helper()
	ns, tc := target.Namespace(t), target.Client(t)
	t.Cleanup(func() {
		err := tc.DeleteAllOf(context.WithoutCancel(t.Context()), &corev1.ConfigMap{}, client.InNamespace(ns))
		if err != nil {
			t.Error(err)
		}
	})
	return ns
}

// credentials makes a namespace on the control plane, with a Secret of the same name for the target, and returns the
// name.
func credentials(t *testing.T, c client.Client) string {
	t.Helper()
	ns := local.Namespace(t)
	kube.Create(t, c, build.Credentials(ns, ns, kube.Kubeconfig(t, target.User(t, user, admins))))
	return ns
}

// connect makes a ProviderConfig of a scope from such a Secret, with its name, in its namespace.
func connect(t *testing.T, c client.Client, s build.Scope, ns string) client.Object {
	t.Helper()
	pc := s.Config(ns, ns, build.FromSecret(ns, ns))
	kube.Create(t, c, pc)
	return pc
}

// create creates all Objects. It may be called in a goroutine.
func (f fleet) create(ctx context.Context, c client.Client) error {
	return each(len(f.objects), func(i int) error {
		return errors.Wrapf(c.Create(ctx, f.objects[i]), "cannot create Object %q", f.objects[i].GetName())
	})
}

// settle creates all Objects and waits until they are Ready and the provider has nothing left to do.
func (f fleet) settle(t *testing.T, c client.Client) {
	t.Helper()
	if err := f.create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f.awaitReady(t, c)
	awaitSilence(t)
}

// awaitReady waits until all Objects are Ready.
func (f fleet) awaitReady(t *testing.T, c client.Client) {
	t.Helper()
	for _, o := range f.objects {
		awaitReady(t, c, o)
	}
}

// awaitReady waits until an Object is Ready.
func awaitReady(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	kube.Await(t, c, o, "Object "+o.GetName()+" to be Ready", func() (bool, string) {
		ready, synced := o.GetCondition(xpv2.TypeReady), o.GetCondition(xpv2.TypeSynced)
		return ready.Status == corev1.ConditionTrue,
			fmt.Sprintf("Ready=%s, Synced=%s %s", ready.Status, synced.Status, synced.Message)
	})
}
