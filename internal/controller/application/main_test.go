package application_test

import (
	"fmt"
	"os"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	// user is whom the provider is on both servers.
	user = "provider"
	// admins is the group that may do everything.
	admins = "system:masters"
)

// Both servers have a garbage collector: the deletions of applications and of namespaces are part of what is tested.
var (
	local  = kube.Server{ControllerManager: true}
	target = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../package/crds")
}

// A world is what most tests need: a namespace on each server, and a ProviderConfig for the target.
type world struct {
	c, tc client.Client // of the control plane and of the target
	ns    string        // on the control plane, also the name of the ProviderConfig and the value of its label tier
	tns   string        // on the target
}

// newWorld returns a world of its own for each test.
func newWorld(t *testing.T) world {
	t.Helper()
	w := unconnected(t)
	w.connect(t, w.ns, good(t))
	return w
}

type (
	application = workloadv1alpha1.KubernetesApplication
	resource    = workloadv1alpha1.KubernetesApplicationResource
)

// change changes a resource as it is now.
func change[T client.Object](t *testing.T, c client.Client, o T, f func(T)) {
	t.Helper()
	kube.Await(t, c, o, "a change of "+o.GetName(), func() (bool, string) {
		f(o)
		err := c.Update(t.Context(), o) // The provider may write it at the same time.
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatalf("cannot change %T %s: %v", o, o.GetName(), err)
		}
		return err == nil, fmt.Sprint(err)
	})
}

// connect makes a ProviderConfig with the label tier of the world.
func (w world) connect(t *testing.T, name string, kubeconfig []byte) *mpcv1alpha1.ProviderConfig {
	t.Helper()
	return w.labelled(t, name, w.ns, kubeconfig)
}

// labelled makes a ProviderConfig with a label tier.
func (w world) labelled(t *testing.T, name, tier string, kubeconfig []byte) *mpcv1alpha1.ProviderConfig {
	t.Helper()
	pc := &mpcv1alpha1.ProviderConfig{
		ObjectMeta: build.Meta(w.ns, name), Spec: build.FromSecret(w.ns, name+"-credentials"),
	}
	pc.SetLabels(map[string]string{"tier": tier})
	kube.Create(t, w.c, secret(w.ns, name+"-credentials", "kubeconfig", string(kubeconfig)), pc)
	return pc
}

// secret returns a Secret. data lists keys and values in turn.
func secret(namespace, name string, data ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: build.Meta(namespace, name), Data: map[string][]byte{}}
	for i := 0; i+1 < len(data); i += 2 {
		s.Data[data[i]] = []byte(data[i+1])
	}
	return s
}

// application returns an application of the world.
func (w world) application(name string, templates ...workloadv1alpha1.ResourceTemplate) *application {
	return build.Application(w.ns, name, w.ns, templates...)
}

// submit creates an application, and waits until it is submitted.
func (w world) submit(t *testing.T, app *application) {
	t.Helper()
	kube.Create(t, w.c, app)
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
}

// settings returns a template of a ConfigMap in the world's namespace on the target.
func (w world) settings(name string, data ...string) workloadv1alpha1.ResourceTemplate {
	return build.ResourceTemplate(name, build.ConfigMap(w.tns, name, data...))
}

// resource returns a KubernetesApplicationResource as it is now.
func (w world) resource(t *testing.T, name string) *resource {
	t.Helper()
	r := &resource{}
	kube.Get(t, w.c, types.NamespacedName{Namespace: w.ns, Name: name}, r)
	return r
}

// passQueues submits another application and deletes it: what was queued before, in each queue, has begun.
func passQueues(t *testing.T) {
	t.Helper()
	w := newWorld(t)
	last := w.application("last", w.settings("last"))
	w.submit(t, last)
	kube.Remove(t, w.c, last)
}

// awaitState waits until an application has a state in its present generation.
func awaitState(t *testing.T, c client.Client, app *application, want workloadv1alpha1.State) {
	t.Helper()
	kube.Await(t, c, app, "state "+string(want)+" of "+app.GetName(), func() (bool, string) {
		return app.Status.State == want && app.Status.ObservedGeneration == app.GetGeneration(), said(app)
	})
}

// awaitResource waits until a KubernetesApplicationResource has a state and a reason of condition Synced, and returns
// it.
func (w world) awaitResource(t *testing.T, name string, state workloadv1alpha1.State,
	reason xpv2.ConditionReason,
) *resource {
	t.Helper()
	r := &resource{}
	kube.Eventually(t, fmt.Sprintf("state %s of %s for reason %s", state, name, reason), func() (bool, string) {
		if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: w.ns, Name: name}, r); err != nil {
			return false, err.Error()
		}
		return r.Status.State == state &&
				r.GetCondition(xpv2.TypeSynced).Reason == reason, r.GetName() + " " + string(r.Status.State) + " " +
				conditions(r)
	})
	return r
}

// said returns what the status of an application says.
func said(app *application) string {
	return fmt.Sprintf("%s, generation %d of %d, %d of %d submitted, %s", app.Status.State,
		app.Status.ObservedGeneration, app.GetGeneration(),
		app.Status.SubmittedResources, app.Status.DesiredResources, conditions(app))
}

func conditions(o interface {
	GetCondition(t xpv2.ConditionType) xpv2.Condition
},
) string {
	s, r := o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady)
	return fmt.Sprintf("Synced %s %s %s, Ready %s %s %s", s.Status, s.Reason, s.Message, r.Status, r.Reason, r.Message)
}

// configMap returns a ConfigMap of the world's namespace on the target, nil if it does not exist.
func (w world) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.tns, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return cm
}
