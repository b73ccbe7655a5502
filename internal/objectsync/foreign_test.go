package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
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
		all := in.Service.Cache
		in.Service.Cache = func(r schema.GroupVersionResource) objectsync.Cache { return labelled{all(r), r} }
		w.refused(s, in, objectsync.ErrForeign)
		if got := w.states()[0]; len(got.Labels) != 0 || len(got.Data) != 1 {
			t.Errorf("adopted: %v %v", got.Labels, sortedKeys(got.Data))
		}
	})
}

// labelled is a cache that shows of all Secrets only states, as a stream of those does.
type labelled struct {
	objectsync.Cache

	resource schema.GroupVersionResource
}

func (l labelled) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	u, err := l.Cache.Get(n)
	if u != nil && l.resource == objectsync.Secrets && u.GetLabels()[objectsync.LabelState] == "" {
		u = nil
	}
	return u, err
}

// TestStateOfAnother shows that an object is not synced by the state that another owner has left of one of the same
// name, and that our own state tells whose it is.
func TestStateOfAnother(t *testing.T) {
	w := newWorld(t)
	w.create(w.above, thing(w.input.Object))
	w.mustSync(w.syncer(&v1alpha1.PublishedResourceSpec{}), w.input)
	was := w.states()[0]
	if got := was.Labels[v1alpha1.LabelKeyAgentName]; got != "agent" {
		t.Errorf("owner of the state: got %q", got)
	}
	second := w.newSyncer(objectsync.Config{
		Spec:  &v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: "second-$remoteNameHash"}},
		Agent: "second", StateNamespace: w.state, Primary: things,
	})
	w.patch(w.above, thing(w.input.Object), `{"metadata":{"finalizers":null}}`)
	all, err := w.sync(second, w.input)
	if !errors.Is(err, objectsync.ErrForeign) || reasons(all) != objectsync.ReasonNameTaken {
		t.Errorf("want ErrForeign and a warning, got %v, %q", err, reasons(all))
	}
	if is := w.states()[0]; is.ResourceVersion != was.ResourceVersion || len(w.copies(w.cluster)) != 1 ||
		len(w.source(w.input).GetFinalizers()) != 0 {
		t.Error("want nothing written")
	}
	primary := objectsync.Primary{Cluster: w.cluster, NamespacedName: w.input.Object}
	state := &unstructured.Unstructured{Object: map[string]any{}}
	state.SetLabels(was.Labels)
	if second.Owns(state) || second.Held(primary, state) != nil {
		t.Error("want nothing read from the state of another")
	}
}

// TestNoTokens shows that no Secret is copied down that a cluster would fill with a token, or take for one.
func TestNoTokens(t *testing.T) {
	for name, change := range map[string]func(s *corev1.Secret){
		"Type":       func(s *corev1.Secret) { s.Type = corev1.SecretTypeServiceAccountToken },
		"Annotation": func(*corev1.Secret) {},
		"Bootstrap":  func(s *corev1.Secret) { s.Type = corev1.SecretTypeBootstrapToken },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
			w.create(w.above, thing(w.input.Object))
			origin := newSecret(w.input.Object.Namespace, "tls", "one")
			origin.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
			change(origin)
			w.create(w.above, origin)
			all, err := w.sync(s, w.input)
			if got := all[len(all)-1].Events; !errors.Is(err, objectsync.ErrCredential) || len(got) == 0 ||
				got[len(got)-1].Reason != objectsync.ReasonRefused {
				t.Errorf("want ErrCredential and a warning, got %v, %v", err, got)
			}
			if got := w.secretOf(w.below, w.cluster, "tls"); got != nil {
				t.Errorf("copied: %v", got)
			}
		})
	}
}

// TestChosenByConsumer shows that a Secret which was there before is not copied up if a consumer names it, by whatever
// rule.
func TestChosenByConsumer(t *testing.T) {
	template := func(s string) v1alpha1.RelatedResourceObject {
		return v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
			Template: &v1alpha1.TemplateExpression{Template: s},
		}}
	}
	selector := func(value string) v1alpha1.RelatedResourceObject {
		return v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
			Selector: &v1alpha1.RelatedResourceSelector{
				LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": value}},
				Rewrite: v1alpha1.SelectorRewrite{
					Template: &v1alpha1.TemplateExpression{Template: "found-{{ .Value }}"},
				},
			},
		}}
	}
	namespace := template("made")
	for name, tc := range map[string]struct {
		reason string
		object func(shared string) v1alpha1.RelatedResourceObject
		want   []string
	}{
		"Template": {
			reason: "A template can yield a field of the consumer.",
			object: func(string) v1alpha1.RelatedResourceObject { return template("{{ .Object.spec.secretName }}") },
		},
		"Selector": {
			reason: "A value of a selector can be a field of the consumer.",
			object: func(string) v1alpha1.RelatedResourceObject {
				return selector("{{ .RemoteObject.spec.secretName }}")
			},
		},
		"Namespace": {
			reason: "Whoever names the namespace of the copy, it is open.",
			object: func(shared string) v1alpha1.RelatedResourceObject {
				o := namespace
				o.Namespace = &v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{
					Template: `{{ if eq .Side "kcp" }}{{ .Object.metadata.namespace }}{{ else }}` + shared +
						`{{ .Object.spec.none }}{{ end }}`,
				}}
				return o
			},
			want: []string{"made"},
		},
		"Constant": {
			reason: "What the provider alone has named is copied.",
			object: func(string) v1alpha1.RelatedResourceObject { return namespace },
			want:   []string{"made"},
		},
		"Labels": {
			reason: "So is what the provider alone selects.",
			object: func(string) v1alpha1.RelatedResourceObject { return selector("tls") },
			want:   []string{"found-tls"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginService, v1alpha1.RelatedResourceObject{})
			shared := inShared(w, spec)
			spec.Related[0].Object = new(tc.object(shared))
			operators := newSecret(shared, "tls", "the operator's")
			operators.Labels = map[string]string{"app": "tls"}
			w.create(w.below, operators)
			w.create(w.below, newSecret(shared, "made", "the operator's"))
			w.create(w.above, thing(w.input.Object, set("none", "")))
			_, err := w.sync(w.syncer(spec), w.input)
			if refused := errors.Is(err, objectsync.ErrForeign); refused != (tc.want == nil) || err != nil && !refused {
				t.Errorf("%s got %v", tc.reason, err)
			}
			l := &corev1.SecretList{}
			kube.List(t, w.above, l, client.InNamespace(w.input.Object.Namespace))
			var got []string
			for i := range l.Items {
				got = append(got, l.Items[i].Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s Secrets in the workspace: -want, +got:\n%s", tc.reason, diff)
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
