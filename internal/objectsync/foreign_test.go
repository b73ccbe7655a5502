package objectsync_test

import (
	"strings"
	"testing"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// inShared has the copies of all workspaces put into one namespace, and returns its name.
func inShared(w *world, spec *v1alpha1.PublishedResourceSpec) string {
	w.Helper()
	ns := w.state + "-shared"
	w.ensureNamespace(ns)
	spec.Naming = &v1alpha1.ResourceNaming{Namespace: ns, Name: "$remoteClusterName-$remoteNameHash"}
	return ns
}

// ownedBy are the owner references of what an operator makes for a copy.
func ownedBy(u *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())}
}

// set returns a change of a field of the spec.
func set(field string, value any) func(u *unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)[field] = value }
}

func (w *world) refused(s *objectsync.Syncer, in objectsync.Input, cause error) {
	w.Helper()
	if _, err := w.sync(s, in); !errors.Is(err, cause) {
		w.Errorf("want %v, got %v", cause, err)
	}
}

// TestStatesStay shows that no rule makes a state a related object or a copy: neither is one read, nor made, nor taken
// for one.
func TestStatesStay(t *testing.T) {
	remembered := func(w *world, in objectsync.Input) string {
		w.create(w.above, thing(in.Object))
		s := w.syncer(&v1alpha1.PublishedResourceSpec{})
		w.mustSync(s, in)
		return s.StateOf(objectsync.Primary{Cluster: in.Workspace.Cluster, NamespacedName: in.Object}).Name
	}
	intoStates := func(w *world, origin v1alpha1.Origin) *objectsync.Syncer {
		object := byReference("spec.secretName")
		object.Namespace = &v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{
			Template: `{{ if eq .Side "kcp" }}` + w.input.Object.Namespace + `{{ else }}` + w.state + `{{ end }}`,
		}}
		return w.syncer(related(origin, object))
	}
	t.Run("Read", func(t *testing.T) {
		w := newWorld(t)
		s := intoStates(w, v1alpha1.OriginService)
		w.create(w.above, thing(w.input.Object))
		w.refused(s, w.input, objectsync.ErrForeign) // Whether or not it is there is nothing to find out.
		name := remembered(w, w.tenant())            // It is younger than the copy of who reads it.
		w.patch(w.above, thing(w.input.Object), `{"spec":{"secretName":"`+name+`"}}`)
		w.refused(s, w.input, objectsync.ErrForeign)
		if got := w.secretOf(w.above, w.input.Object.Namespace, name); got != nil {
			t.Errorf("leaked: %v", sortedKeys(got))
		}
	})
	t.Run("Forge", func(t *testing.T) {
		w := newWorld(t)
		name := "obj-state-" + w.cluster + "-00000000000000000000"
		w.create(w.above, thing(w.input.Object, set("secretName", name)))
		w.create(w.above, newSecret(w.input.Object.Namespace, name, "records"))
		s := intoStates(w, v1alpha1.OriginKCP)
		w.refused(s, w.input, objectsync.ErrForeign)
		if got := w.secretOf(w.below, w.state, name); got != nil {
			t.Errorf("forged: %v", got)
		}
		w.delete(w.input)
		w.mustSync(s, w.input)
	})
	t.Run("Adopt", func(t *testing.T) {
		w := newWorld(t)
		s := w.syncer(&v1alpha1.PublishedResourceSpec{})
		at := s.StateOf(objectsync.Primary{Cluster: w.cluster, NamespacedName: w.input.Object})
		w.create(w.below, newSecret(at.Namespace, at.Name, "records"))
		w.create(w.above, thing(w.input.Object))
		in := w.input
		in.Service = veil(in.Service, at.Name, nil) // As a stream of states shows none that is not labelled as one.
		w.refused(s, in, objectsync.ErrForeign)
		if got := w.states()[0]; len(got.Labels) != 0 || len(got.Data) != 1 {
			t.Errorf("adopted: %v %v", got.Labels, sortedKeys(got.Data))
		}
	})
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
	w := newWorld(t)
	spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
	shared := inShared(w, spec)
	s := w.syncer(spec)
	thief := w.tenant()
	w.create(w.above, thing(thief.Object))
	w.mustSync(s, thief)
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	issued := newSecret(shared, "tls", "the victim's")
	issued.OwnerReferences = ownedBy(w.theCopy(w.cluster))
	w.create(w.below, issued)
	w.refused(s, thief, objectsync.ErrForeign)
	w.mustSync(s, w.input)
	w.refused(s, thief, objectsync.ErrForeign)
	if got := w.secretOf(w.above, w.input.Object.Namespace, "tls")["k"]; got != "the victim's" {
		t.Errorf("want the Secret where it belongs, got %q", got)
	}
	if got := w.secretOf(w.above, thief.Object.Namespace, "tls"); got != nil {
		t.Errorf("leaked: %v", got)
	}
}
