package objectsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// inPlace has related objects in the namespace of the service cluster that field place of the consumer's object names.
func inPlace(name v1alpha1.RelatedResourceObjectSpec) v1alpha1.RelatedResourceObject {
	return v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: name,
		Namespace: &v1alpha1.RelatedResourceObjectSpec{
			Template: &v1alpha1.TemplateExpression{
				Template: `{{ if eq .Side "kcp" }}{{ .Object.metadata.namespace }}{{ else }}{{ .Object.spec.place }}{{ end }}`,
			},
		},
	}
}

// TestClosedDestinations shows in which namespaces of the service cluster a consumer can plant a Secret: TestAccess has
// more of who may name what. In others nobody looks for one, as each look is a watch, nor in more than the workspace
// may have.
func TestClosedDestinations(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, place string
		opened        v1alpha1.NamePattern // none if empty
		full          bool
		want          error
	}{
		"Anywhere": {reason: "By default no namespace can be named.", place: "far", want: objectsync.ErrClosed},
		"Opened":   {reason: "The service owner can open one.", place: "far", opened: "f*"},
		"System":   {reason: "That of the system never is.", place: "kube-system", opened: "*", want: objectsync.ErrClosed},
		"States":   {reason: "Nor that of the states.", place: "states", opened: "*", want: objectsync.ErrClosed},
		"Full": {
			reason: "An open one may be one too many.", place: "far", opened: "*", full: true,
			want: objectsync.ErrTooManyNamespaces,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			spec := related(v1alpha1.OriginKCP, inPlace(byReference("spec.secretName").RelatedResourceObjectSpec))
			if tc.opened != "" {
				spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{
					Namespaces: []v1alpha1.NamePattern{tc.opened}, Objects: []v1alpha1.NamePattern{"tls"},
				}
			}
			enter(w.input, map[string]any{"place": tc.place, "secretName": "tls"})
			workspaceOf(w.input).secretIn("default", "tls", "b25l")
			looked := false
			w.input.Service = through(w.input.Service, objectsync.Secrets,
				func(n types.NamespacedName, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
					looked = looked || n.Name == "tls"
					return u, nil
				})
			w.input.MayRead = func(namespace string) bool {
				if namespace == w.cluster {
					t.Error("the namespace of the copy is no matter")
				}
				return !tc.full
			}
			if err := w.resync(w.syncer(spec), w.input); !errors.Is(err, tc.want) {
				t.Errorf("%s Want %v, got %v", tc.reason, tc.want, err)
			}
			if planted := below.valueOf(tc.place, "tls") != ""; planted != (tc.want == nil) || looked != planted {
				t.Errorf("%s Planted: %t, looked for: %t", tc.reason, planted, looked)
			}
		})
	}
}

// TestClosedPrimary shows that no rule for names lets a consumer have copies in a namespace of the system.
func TestClosedPrimary(t *testing.T) {
	w, below := withoutServers(t)
	enter(w.input, map[string]any{"place": "kube-system"})
	w.isRefused(w.syncer(&v1alpha1.PublishedResourceSpec{
		Naming: &v1alpha1.ResourceNaming{Namespace: "{{ .Object.spec.place }}"},
	}), w.input, objectsync.ErrForeign)
	if got := below.names(things.Service.GroupVersionResource); len(got) != 0 {
		t.Errorf("want no copy, got %v", got)
	}
}

// isRefused fails unless an object in memory is refused for a cause, and its workspace has no more Secrets than it had.
func (w *world) isRefused(s *objectsync.Syncer, in objectsync.Input, cause error) {
	w.Helper()
	was := workspaceOf(in).secretNames(in.Object.Namespace)
	if err := w.resync(s, in); !errors.Is(err, cause) {
		w.Errorf("want %v, got %v", cause, err)
	}
	if is := workspaceOf(in).secretNames(in.Object.Namespace); !slices.Equal(is, was) {
		w.Errorf("leaked: want the Secrets %v, got %v", was, is)
	}
}

// upFromShared returns a world in memory where a consumer names a Secret of namespace shared, and the syncer of it.
func upFromShared(t *testing.T) (*world, *memory, *objectsync.Syncer) {
	t.Helper()
	w, below := withoutServers(t)
	enter(w.input, map[string]any{"secretName": "tls"})
	return w, below, w.syncer(sharing(related(v1alpha1.OriginService, byReference("spec.secretName"))))
}

// issue has an operator make the Secret for the copy of an object, which owns it.
func (w *world) issue(s *objectsync.Syncer, below *memory, value string) {
	w.Helper()
	w.settle(s, w.input)
	below.secretIn("shared", "tls", value, func(u *unstructured.Unstructured) {
		u.SetOwnerReferences(ownedBy(w.theCopy(w.cluster)))
	})
	if err := w.resync(s, w.input); err != nil || workspaceOf(w.input).valueOf("default", "tls") != value {
		w.Errorf("want the Secret that the copy owns, got %v", err)
	}
}

// TestReplacedMeanwhile shows that an object of the service cluster which takes the place of one that was copied is
// admitted anew.
func TestReplacedMeanwhile(t *testing.T) {
	w, below, s := upFromShared(t)
	w.issue(s, below, "b25l")
	below.secretIn("shared", "tls", "dHdv")
	w.isRefused(s, w.input, objectsync.ErrClosed)
	if got := workspaceOf(w.input).valueOf("default", "tls"); got != "b25l" {
		t.Errorf("leaked: %q", got)
	}
}

// TestForeignLabel shows that a Secret which an operator has made for another consumer, with labels of that one's
// choice, is not let in by them where workspaces share a namespace, while one that the copy owns is.
func TestForeignLabel(t *testing.T) {
	w, below := withoutServers(t)
	enter(w.input, map[string]any{})
	s := w.syncer(sharing(related(v1alpha1.OriginService, selecting("{{ .Value }}", "{{ .ClusterName }}"))))
	below.secretIn("shared", "foreign", "dHdv", func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{"app": w.cluster})
	})
	w.isRefused(s, w.input, objectsync.ErrClosed)
	below.drop(objectsync.Secrets, types.NamespacedName{Namespace: "shared", Name: "foreign"})
	below.secretIn("shared", "tls", "b25l", func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{"app": w.cluster})
		u.SetOwnerReferences(ownedBy(w.theCopy(w.cluster)))
	})
	if err := w.resync(s, w.input); err != nil || workspaceOf(w.input).valueOf("default", "tls") != "b25l" {
		t.Errorf("want the Secret that the copy owns, got %v", err)
	}
}

// TestHiddenIsNotGone shows that what a workspace hides stays as it is on both sides, and goes on when it is shown
// again.
func TestHiddenIsNotGone(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	w.create(w.above, thing(w.input.Object))
	origin := newSecret(w.input.Object.Namespace, "tls", "one")
	w.create(w.above, origin)
	w.mustSync(s, w.input)
	hidden := w.input
	hidden.Workspace.Side = blindTo(hidden.Workspace.Side, objectsync.Secrets,
		objectsync.NewClaimRefusal(objectsync.Secrets.GroupResource()))
	above, below := w.writes(func() {
		results, err := w.sync(s, hidden)
		if objectsync.RefusalOf(err) == nil || reasons(results) != objectsync.ReasonClaimMissing {
			t.Errorf("want the consumer told of the claim, got %q, %v", reasons(results), err)
		}
	})
	if len(above)+len(below) > 0 || w.secretOf(w.below, w.cluster, "tls")["k"] != "one" {
		t.Errorf("want nothing written, and the copy kept, got %v %v", above, below)
	}
	w.patch(w.above, origin, `{"data":{"k":"dHdv"}}`)
	w.mustSync(s, w.input)
	if got := w.secretOf(w.below, w.cluster, "tls")["k"]; got != "two" {
		t.Errorf("want the copy kept in step again, got %q", got)
	}

	w.patch(w.above, origin, `{"metadata":{"finalizers":null}}`)
	kube.Delete(t, w.above, origin)
	some := w.input
	some.Workspace.ShowsAll = func(schema.GroupResource) bool { return false }
	above, below = w.writes(func() {
		if _, err := w.sync(s, some); objectsync.RefusalOf(err) == nil {
			t.Errorf("want to be told that the object may be hidden, got %v", err)
		}
	})
	if len(above)+len(below) > 0 {
		t.Errorf("want nothing written for what may be hidden, got %v %v", above, below)
	}
	w.delete(w.input)
	if w.mustSync(s, w.input); w.secretOf(w.below, w.cluster, "tls") != nil {
		t.Error("want the copy gone with the object, in a workspace that shows all")
	}
}

// TestNameThatTellsNothing shows that a Secret in a shared namespace which has the name of the copy, or our own marks,
// in a label is not for the consumer of that: anybody may have written it.
func TestNameThatTellsNothing(t *testing.T) {
	w, below, s := upFromShared(t)
	below.secretIn("shared", "tls", "b25l")
	w.isRefused(s, w.input, objectsync.ErrClosed)
	for label, value := range map[string]string{
		"app": w.theCopy(w.cluster).GetName(), objectsync.LabelRelatedCluster: w.cluster, objectsync.LabelCluster: w.cluster,
	} {
		below.set(objectsync.Secrets, "shared", "tls", value, "metadata", "labels", label)
		w.isRefused(s, w.input, objectsync.ErrClosed)
	}
}

// ownedBy are the owner references of what an operator makes for a copy.
func ownedBy(u *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())}
}

// set returns a change of a field of the spec.
func set(field string, value any) func(u *unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)[field] = value }
}

// TestNoTokens shows that no Secret is copied down that a cluster would fill with a token, or take for one.
func TestNoTokens(t *testing.T) {
	for name, change := range map[string]func(s *unstructured.Unstructured){
		"Type":      func(s *unstructured.Unstructured) { s.Object["type"] = "kubernetes.io/service-account-token" },
		"Bootstrap": func(s *unstructured.Unstructured) { s.Object["type"] = "bootstrap.kubernetes.io/token" },
		"Annotation": func(s *unstructured.Unstructured) {
			s.SetAnnotations(map[string]string{corev1.ServiceAccountNameKey: "default"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			enter(w.input, map[string]any{"secretName": "tls"})
			workspaceOf(w.input).secretIn("default", "tls", "b25l", change)
			r, err := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName"))).Sync(t.Context(), w.input)
			if got := reasons([]objectsync.Result{r}); !errors.Is(err, objectsync.ErrCredential) ||
				!strings.HasSuffix(got, objectsync.ReasonRefused) {
				t.Errorf("want ErrCredential and a warning, got %v, %s", err, got)
			}
			if got := below.valueOf(w.cluster, "tls"); got != "" {
				t.Errorf("copied: %v", got)
			}
		})
	}
}

// TestChosenByConsumer shows that a Secret which was there before is not copied up because a consumer names it,
// whatever mutation makes of that, unless the service owner has named or opened it: TestAccess has more of who may name
// what.
func TestChosenByConsumer(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		object v1alpha1.RelatedResourceObject
		steps  []v1alpha1.ResourceMutation
		opened []v1alpha1.NamePattern
		want   bool
	}{
		"Reference": {reason: "A reference is the consumer's word.", object: byReference("spec.secretName")},
		"Selector": {
			reason: "So is a value of a selector.", object: selecting("{{ .Value }}", "{{ .RemoteObject.spec.secretName }}"),
		},
		"Mutated": {
			reason: "Whatever mutation makes, the reference is the consumer's.", object: byReference("spec.other"),
			steps: []v1alpha1.ResourceMutation{byTemplate("spec.other", "made")},
		},
		"MutatedOpened": {
			reason: "The owner opens what mutation makes.", object: byReference("spec.other"),
			steps:  []v1alpha1.ResourceMutation{byTemplate("spec.other", "made")},
			opened: []v1alpha1.NamePattern{"made"}, want: true,
		},
		"Constant": {
			reason: "What the owner alone has named is copied.", want: true,
			object: located(v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: "made"}}),
		},
		"Labels": {reason: "So is what the owner alone selects.", object: selecting("{{ .Value }}", "made"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			spec := sharing(related(v1alpha1.OriginService, tc.object))
			spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{Objects: tc.opened}
			spec.Mutation = &v1alpha1.ResourceMutations{Spec: tc.steps}
			below.secretIn("shared", "made", "b25l", func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"app": "made"})
			})
			enter(w.input, map[string]any{"secretName": "made", "other": "tls"})
			err := w.resync(w.syncer(spec), w.input)
			if errors.Is(err, objectsync.ErrForeign) == tc.want || err != nil && tc.want {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if copied := len(workspaceOf(w.input).secretNames("default")) > 0; copied != tc.want {
				t.Errorf("%s Copied: %t", tc.reason, copied)
			}
		})
	}
}

// TestNameOfTheFuture shows that who names a Secret that is made for another later does not keep it from that one, and
// does not get it.
func TestNameOfTheFuture(t *testing.T) {
	w, below, s := upFromShared(t)
	thief := w.neighbor()
	enter(thief, map[string]any{"secretName": "tls"})
	w.settle(s, thief)
	w.issue(s, below, "b25l")
	w.isRefused(s, thief, objectsync.ErrForeign)
}
