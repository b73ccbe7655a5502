package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestFinalizerTakenOff shows that the copy of an object whose consumer takes our finalizer off, and deletes it before
// it is back, is kept as an orphan, until an operator deletes it: all that belongs to it goes then. The copy of an
// object that was seen in deletion before goes.
func TestFinalizerTakenOff(t *testing.T) {
	t.Parallel()
	s, late := newShop(t, exportName), &lateWatches{}
	s.connect(t, late.of(t, s.agent(t), "/certs"))
	o := s.publishCerts(t, vacating)
	in := s.tenant(t)
	key, web, last := secretIn(metav1.NamespaceDefault, "key", "a"), s.naming("web", "key"), s.cert("last")
	last.SetFinalizers([]string{"example.com/mine"})
	kube.Create(t, in, key, web, last)
	copied, other := s.copyNamed(t, in, "web"), s.copyNamed(t, in, "last")
	awaitCounts(t, s.c, o, 2, 0)
	awaitValue(t, s.c, in.cluster, key.Name, "a")

	late.hold()
	t.Cleanup(late.release)
	kube.Patch(t, in, web, noFinalizers)
	kube.Remove(t, in, web)
	late.release()
	kube.Delete(t, in, last)
	s.turn(t, in)
	kube.Patch(t, in, last, noFinalizers)
	kube.AwaitGone(t, s.c, other)

	s.awaitOrphans(t, o, in, copied)
	awaitValue(t, s.c, in.cluster, key.Name, "a")
	if got := finalizersOf(t, in, key); len(got) > 0 {
		t.Errorf("finalizers of the Secret: %v", got)
	}
	kube.Delete(t, s.c, copied)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Orphaned == 0 && len(c.Orphans) == 0 })
	kube.AwaitGone(t, s.c, copied, secretIn(in.cluster, key.Name, ""))
	s.awaitVacated(t, in)
	s.awaitStates(t, o, 0)
}

// noFinalizers takes off all finalizers.
const noFinalizers = `{"metadata":{"finalizers":null}}`

// vacating has namespaces of copies deleted when they are empty.
func vacating(o *v1alpha1.PublishedResource) {
	o.Spec.CreatedNamespaces = &v1alpha1.CreatedNamespaces{
		WhenEmpty: xpv2.DeletionDelete, Labels: map[string]string{"tenant": "{{ .ClusterName }}"},
	}
}

// awaitOrphans waits until these copies of a tenant, and no others, are labelled as orphans and counted in the status.
func (s *shop) awaitOrphans(t *testing.T, o *v1alpha1.PublishedResource, in tenant, all ...*unstructured.Unstructured) {
	t.Helper()
	for _, copied := range all {
		s.awaitCopy(t, copied, "an orphan with the day", func() bool {
			_, err := time.Parse(time.DateOnly, copied.GetLabels()[objectsync.LabelOrphaned])
			return err == nil
		})
	}
	n := int64(len(all))
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Orphaned == n && cmp.Equal(c.Orphans, []v1alpha1.WorkspaceOrphans{{Workspace: in.path, Copies: n}})
	})
}

// awaitAdopted waits until a copy is synced again by a PublishedResource.
func (s *shop) awaitAdopted(t *testing.T, o *v1alpha1.PublishedResource, copied *unstructured.Unstructured) {
	t.Helper()
	s.awaitCopy(t, copied, "no orphan", func() bool {
		return !objectsync.IsOrphaned(copied) &&
			strings.HasPrefix(copied.GetAnnotations()[objectsync.AnnotationPublication], o.GetName()+"/")
	})
}

// awaitCopy waits until a copy is as wanted, the same one all along.
func (s *shop) awaitCopy(t *testing.T, copied *unstructured.Unstructured, what string, is func() bool) {
	t.Helper()
	uid := copied.GetUID()
	kube.Await(t, s.c, copied, "the copy to be "+what, func() (bool, string) {
		if copied.GetUID() != uid || copied.GetDeletionTimestamp() != nil {
			t.Fatalf("want the copy to stay, got %v", copied.Object["metadata"])
		}
		return is(), fmt.Sprint(copied.Object["metadata"])
	})
}

// awaitStates waits until there are as many states.
func (s *shop) awaitStates(t *testing.T, o *v1alpha1.PublishedResource, n int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprint(n, " states"), func() (bool, string) {
		states := &corev1.SecretList{}
		err := s.c.List(t.Context(), states, client.InNamespace(o.Spec.StateNamespace),
			client.HasLabels{objectsync.LabelState})
		return err == nil && len(states.Items) == n, fmt.Sprint(len(states.Items), err)
	})
}

// forceAway has the APIBinding of a tenant go, and leave its Cert web alive: policies refuse to delete that, so that
// kcp waits, and system:masters takes its finalizer off. Meanwhile is called while the binding is in deletion.
func (s *shop) forceAway(t *testing.T, in tenant, meanwhile func()) {
	t.Helper()
	// Those of the workspace of the APIExport decide and, in the moment in which the binding goes, the tenant's own.
	for _, c := range []client.Client{in, kcp.Client(t, s.admin)} {
		refuse(t, c, "certs.example.com", admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: matching(s.group, "certs", admissionv1.Delete),
			Validations: []admissionv1.Validation{{
				Expression: "oldObject.metadata.name != 'web'", Message: refusal,
			}},
		})
	}
	kube.Eventually(t, "refusal", func() (bool, string) {
		return isRefused(in.Delete(t.Context(), s.cert("web"), client.DryRunAll))
	})
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	kube.Delete(t, in, b)
	meanwhile()
	kube.Patch(t, kcp.Client(t, workspaces.Master(t, in.path)), b, noFinalizers)
	kube.AwaitGone(t, in, b)
}

// TestBindingForced shows that objects are synced while their APIBinding is in deletion and they are not, that copies
// are orphans once it has been forced away, with the endpoint, and that they are synced again when it is back.
func TestBindingForced(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	copied := s.copyOf(t, in)
	awaitCounts(t, s.c, o, 1, 0)
	s.forceAway(t, in, func() {
		kube.Await(t, s.c, o, "no consumer", func() (bool, string) { return o.Status.Workspaces.Bound == 0, describe(o) })
		kube.Patch(t, in, s.cert("web"), `{"spec":{"size":"XL"}}`)
		awaitField(t, s.c, copied, "XL", "spec", "size")
	})
	s.awaitEndpoints(t, o)
	s.awaitOrphans(t, o, in, copied)
	kcp.AwaitBound(t, in.cfg, kcp.Bind(t, in.cfg, s.path, exportName, claims()...))
	s.awaitAdopted(t, o, copied)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Orphaned == 0 })
}

// TestTwoExportsOneIdentity shows that of a workspace that goes from one APIExport to another with the same identity
// and schema, so that its objects stay, the copies stay, too: the first PublishedResource lets go, and the second takes
// them.
func TestTwoExportsOneIdentity(t *testing.T) {
	t.Parallel()
	const other = "second.example.com"
	s := newShop(t, exportName)
	s.connect(t, s.agent(t, other))
	agent := func(o *v1alpha1.PublishedResource) { o.Spec.AgentName = "one" }
	first := s.publishCerts(t, agent)
	e := kcp.Export(other)
	e.Spec.Identity = s.export(t).Spec.Identity
	s.create(t, e)
	second := s.publishedCerts(first.Spec.StateNamespace)
	second.Name += "-second"
	second.Spec.APIExport = &commonv1.APIExport{Name: other}
	s.offer(t, second, agent)
	goes, stays := s.tenant(t), s.tenant(t)
	kube.Create(t, goes, secretIn(metav1.NamespaceDefault, "key", "a"), s.naming("web", "key"))
	copied, key := s.copyOf(t, goes), secretIn(goes.cluster, "key", "")
	awaitValue(t, s.c, goes.cluster, "key", "a")
	kube.Get(t, s.c, client.ObjectKeyFromObject(key), key)
	uid := key.UID
	s.awaitAdopted(t, first, copied)

	s.forceAway(t, goes, func() {})
	kcp.AwaitBound(t, goes.cfg, kcp.Bind(t, goes.cfg, s.path, other, claims()...))
	s.awaitAdopted(t, second, copied)
	awaitObjects(t, s.c, second, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Orphaned == 0 })
	kube.Holds(t, "the first lets go", func() (bool, string) {
		kube.Get(t, s.c, client.ObjectKeyFromObject(key), key)
		return key.UID == uid && key.DeletionTimestamp == nil, describe(first)
	}, func() { s.turn(t, stays) })
	s.awaitAdopted(t, second, copied)
	awaitObjects(t, s.c, first, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 0 && c.Failed == 0 && c.Orphaned == 0
	})
}

// TestFilterIsLeft shows that the copy of an object that leaves the filter rests, and is synced again when the object
// is back; that it goes with the object; and that an operator who deletes it has the object be let go.
func TestFilterIsLeft(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Filter = &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rests", Operator: metav1.LabelSelectorOpDoesNotExist}},
		}}
	})
	in := s.tenant(t)
	web, other := s.cert("web"), s.cert("other")
	kube.Create(t, in, web, other)
	copied, another := s.copyNamed(t, in, "web"), s.copyNamed(t, in, "other")
	const rests = `{"metadata":{"labels":{"rests":"yes"}},"spec":{"size":"XL"}}`
	kube.Patch(t, in, web, rests)
	kube.Patch(t, in, other, rests)
	s.awaitOrphans(t, o, in, copied, another)
	kube.Holds(t, "the copy rests", func() (bool, string) {
		version := copied.GetResourceVersion()
		kube.Get(t, s.c, client.ObjectKeyFromObject(copied), copied)
		size, _, _ := unstructured.NestedString(copied.Object, "spec", "size")
		return size == "L" && copied.GetResourceVersion() == version, size
	}, func() { s.turn(t, in) })
	awaitCounts(t, s.c, o, 0, 0)

	kube.Patch(t, in, web, `{"metadata":{"labels":null}}`)
	s.awaitAdopted(t, o, copied)
	awaitField(t, s.c, copied, "XL", "spec", "size")
	kube.Patch(t, in, web, rests)
	s.awaitOrphans(t, o, in, copied, another)
	kube.Remove(t, in, web)
	kube.AwaitGone(t, s.c, copied)

	kube.Remove(t, s.c, another)
	kube.Await(t, in, other, "the object to be let go", func() (bool, string) {
		return !slices.Contains(other.GetFinalizers(), objectsync.Finalizer), fmt.Sprint(other.GetFinalizers())
	})
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Orphaned == 0 && len(c.Orphans) == 0 })
	s.awaitStates(t, o, 0)
}
