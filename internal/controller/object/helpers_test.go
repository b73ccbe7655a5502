package object_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

var (
	// observeOnly is the policy of an Object that only looks.
	observeOnly = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	// observeDelete is the policy of an Object that looks, and deletes in the end.
	observeDelete = xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionDelete}
	// observeUpdate is the policy of an Object that keeps some fields of a resource of others.
	observeUpdate = xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionUpdate}
	// neverDelete is the policy of an Object that does everything but delete.
	neverDelete = xpv2.ManagementPolicies{
		xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate,
	}
)

// emptySettings returns a ConfigMap of the name most tests use.
func emptySettings(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, "settings")}
}

// touched counts the touches of this process, so that each is a change.
var touched atomic.Int64

// touch labels an Object, so that the controller reconciles it.
func touch(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	patch := `{"metadata":{"labels":{"touch":"` + strconv.FormatInt(touched.Add(1), 10) + `"}}}`
	kube.Patch(t, c, o, patch)
}

// staysUnwritten checks that the provider does not write Objects that are reconciled again.
func staysUnwritten(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	mark := local.Audit(t).Mark()
	holds(t, c, "Objects are not written", func() (bool, string) {
		written := writes(t, mark, objs...)
		for _, o := range objs {
			if len(written) > 0 && c.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil {
				written = append(written, o.GetName()+": "+conditions(o))
			}
		}
		return len(written) == 0, strings.Join(written, "\n")
	}, objs...)
}

// writes returns what the provider has written of Objects since a mark.
func writes(t *testing.T, mark kube.Mark, objs ...build.Object) []string {
	t.Helper()
	var written []string
	for _, e := range local.Audit(t).Since(mark).By(user) {
		about := func(o build.Object) bool { return e.Name == o.GetName() && e.Namespace == o.GetNamespace() }
		if strings.HasPrefix(e.Subject(), "objects.") && e.Verb != "get" && slices.ContainsFunc(objs, about) {
			written = append(written, e.Verb+" "+e.Name)
		}
	}
	return written
}

// asksNothing checks that the user of a world asks nothing of the target while Objects are reconciled again.
func (w world) asksNothing(t *testing.T, objs ...build.Object) {
	t.Helper()
	mark := target.Audit(t).Mark()
	holds(t, w.c, "nothing is asked of the target", func() (bool, string) {
		asked := target.Audit(t).Since(mark).By(w.user)
		return len(asked) == 0, asked.String()
	}, objs...)
}

// checkAsked checks what the user of a world has asked of the target since a mark.
func (w world) checkAsked(t *testing.T, mark kube.Mark, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, target.Audit(t).Since(mark).By(w.user).Count(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("requests of %s to the target: -want, +got:\n%s", w.user, diff)
	}
}

// holds checks that something stays so while Objects are reconciled again, and whatever waits in the queue before them.
func holds(t *testing.T, c client.Client, what string, check func() (bool, string), objs ...build.Object) {
	t.Helper()
	kube.Holds(t, what, check, func() {
		for _, o := range objs {
			touch(t, c, o)
		}
		passQueue(t, c)
	})
}

// staysThere checks that something stays on the control plane while an Object is reconciled again.
func staysThere(t *testing.T, c client.Client, x client.Object, o build.Object) {
	t.Helper()
	holds(t, c, x.GetName()+" stays", func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(x), x)
		return err == nil, message(err)
	}, o)
}

// passQueue returns when what was queued before has begun.
func passQueue(t *testing.T, c client.Client) {
	t.Helper()
	provider.PassQueue(t, c, local.Namespace(t))
}

// conditions returns the conditions of an Object as text.
func conditions(o build.Object) string {
	return fmt.Sprint(o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady))
}

// A wantCondition is a condition a test waits for; an empty reason stands for any.
type wantCondition struct {
	Type   xpv2.ConditionType
	Status corev1.ConditionStatus
	Reason xpv2.ConditionReason
}

// String names the condition in messages.
func (w wantCondition) String() string { return fmt.Sprintf("%s=%s %s", w.Type, w.Status, w.Reason) }

var (
	synced = wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionTrue}
	ready  = wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionTrue}
)

// failed is condition Synced=False for a reason.
func failed(r xpv2.ConditionReason) wantCondition {
	return wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: r}
}

// keeper returns an Object that keeps a ConfigMap of its own name, with references.
func (w world) keeper(name string, refs ...commonv1.Reference) build.Object {
	o := w.scope.Object(w.namespace, w.target+"-"+name, w.config, build.ConfigMap(w.target, name, "color", "blue"))
	o.Desired().References = refs
	return o
}

// crowd makes keepers with references, whose names are numbers, and does not wait for them.
func (w world) crowd(t *testing.T, n int, refs ...commonv1.Reference) []build.Object {
	t.Helper()
	all := make([]build.Object, n)
	for i := range all {
		all[i] = w.keeper(strconv.Itoa(i), refs...)
		kube.Create(t, w.c, all[i])
	}
	return all
}

// name returns the name of the Object that is a keeper.
func (w world) name(name string) string { return w.target + "-" + name }

// kept returns the ConfigMap that a keeper keeps on the target.
func (w world) kept(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, name)}
}

// source makes a ConfigMap on the control plane.
func (w world) source(t *testing.T, name string, data map[string]string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, name), Data: data}
	kube.Create(t, w.c, cm)
	return cm
}

// on depends on another keeper.
func (w world) on(name string) commonv1.Reference {
	return commonv1.Reference{DependsOn: &commonv1.DependsOn{Name: w.name(name)}}
}

// onConfigMap depends on a ConfigMap of the control plane.
func (w world) onConfigMap(name string) commonv1.Reference {
	return commonv1.Reference{DependsOn: &commonv1.DependsOn{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name,
	}}
}

// from patches a field of the manifest with one of a ConfigMap of the control plane.
func (w world) from(name, field, to string, transforms ...commonv1.Transform) commonv1.Reference {
	return commonv1.Reference{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name, FieldPath: field,
		Transforms: transforms,
	}}
}

// referred is the finalizer on what an Object refers to.
func referred(o build.Object) string { return commonv1.FinalizerReferredPrefix + string(o.GetUID()) }

// awaitPinned waits until a resource has, or has not, the finalizer of an Object.
func awaitPinned(t *testing.T, c client.Client, o build.Object, x client.Object, want bool) {
	t.Helper()
	kube.Await(t, c, x, "finalizer of "+o.GetName()+" on "+x.GetName(), func() (bool, string) {
		return slices.Contains(x.GetFinalizers(), referred(o)) == want, strings.Join(x.GetFinalizers(), ", ")
	})
}

// awaitRecorded waits until the status of an Object names just these resources as pinned.
func awaitRecorded(t *testing.T, c client.Client, o build.Object, want ...string) {
	t.Helper()
	kube.Await(t, c, o, "record of what "+o.GetName()+" refers to", func() (bool, string) {
		got := recorded(o)
		return slices.Equal(got, want), strings.Join(got, ", ")
	})
}

func recorded(o build.Object) []string {
	var names []string
	for _, p := range o.Observed().References {
		names = append(names, p.Kind+" "+p.Name)
	}
	return names
}

// setReferences changes the references of an Object.
func setReferences(t *testing.T, c client.Client, o build.Object, refs ...commonv1.Reference) {
	t.Helper()
	kube.Edit(t, c, o, func() { o.Desired().References = refs })
}

// setData changes a value of a ConfigMap.
func setData(t *testing.T, c client.Client, cm *corev1.ConfigMap, key, value string) {
	t.Helper()
	patch := `{"data":{"` + key + `":"` + value + `"}}`
	kube.Patch(t, c, cm, patch)
}

// events returns the messages of the events about an Object that contain a text.
func events(t *testing.T, c client.Client, o build.Object, message string) []string {
	t.Helper()
	return chosenEvents(t, c, o, func(e corev1.Event) bool { return strings.Contains(e.Message, message) })
}

// chosenEvents returns the messages of some events about an Object, each as often as it was told.
func chosenEvents(t *testing.T, c client.Client, o build.Object, wanted func(corev1.Event) bool) []string {
	t.Helper()
	l := &corev1.EventList{}
	kube.List(t, c, l)
	var found []string
	for _, e := range l.Items {
		if e.InvolvedObject.UID == o.GetUID() && wanted(e) {
			found = append(found, slices.Repeat([]string{e.Message}, int(max(1, e.Count)))...)
		}
	}
	return found
}

// patches is a reference that patches a field of the manifest with the same field of another resource.
func patches(p commonv1.PatchesFrom) commonv1.Reference { return commonv1.Reference{PatchesFrom: &p} }

func selectorOf(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
