package objectsync_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	relatedrules "github.com/crossplane-contrib/provider-kcp/internal/related"
)

// leaveFilter takes the labels off the object that a filter asks for.
func (m *manyRelated) leaveFilter() {
	m.above.set(things.Workspace.GroupVersionResource, "default", "web", map[string]any{}, "metadata", "labels")
}

// TestStatusWithoutCopy shows when the status of an object goes with that of its copy, and when it stays.
func TestStatusWithoutCopy(t *testing.T) {
	ready := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	served := &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{MatchLabels: map[string]string{"served": "yes"}}}
	type change = func(m *manyRelated, at types.NamespacedName)
	for name, tc := range map[string]struct {
		reason string
		pair   objectsync.Pair
		change change
		want   any
	}{
		"Deleted": {
			reason: "A new copy is not ready before its operator says so.", pair: things,
			change: func(m *manyRelated, at types.NamespacedName) { m.below.drop(things.Service.GroupVersionResource, at) },
		},
		"Emptied": {
			reason: "The copy has none any more.", pair: things,
			change: func(m *manyRelated, at types.NamespacedName) {
				u := m.below.get(things.Service.GroupVersionResource, at).DeepCopy()
				delete(u.Object, "status")
				m.below.put(things.Service.GroupVersionResource, u)
			},
		},
		"LeavesFilter": {
			reason: "It rests as it is.", pair: things, want: ready,
			change: func(m *manyRelated, at types.NamespacedName) {
				m.below.set(things.Service.GroupVersionResource, at.Namespace, at.Name, map[string]any{}, "status")
				m.leaveFilter()
			},
		},
		"LeavesFilterDeleted": {
			reason: "There is no copy any more.", pair: things,
			change: func(m *manyRelated, at types.NamespacedName) {
				m.below.drop(things.Service.GroupVersionResource, at)
				m.leaveFilter()
			},
		},
		"NotShown": {
			reason: "The watch does not show a copy that has lost our labels.", pair: things, want: ready,
			change: func(m *manyRelated, at types.NamespacedName) {
				m.input.Service = through(m.input.Service, things.Service.GroupVersionResource,
					func(types.NamespacedName, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
						return nil, nil //nolint:nilnil // So is none told.
					})
			},
		},
		"NoSubresource": {
			reason: "It is content that goes down.", pair: plains, want: ready,
			change: func(m *manyRelated, at types.NamespacedName) { m.below.drop(plains.Service.GroupVersionResource, at) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			m := &manyRelated{world: w, above: workspaceOf(w.input), below: below}
			s := w.syncerOf(tc.pair, &v1alpha1.PublishedResourceSpec{Filter: served})
			from, to := tc.pair.Workspace, tc.pair.Service.GroupVersionResource
			u := objectOf(from, w.input.Object, map[string]any{})
			u.SetLabels(map[string]string{"served": "yes"})
			m.above.put(from.GroupVersionResource, u)
			w.settle(s, m.input)
			at := types.NamespacedName{}
			for at = range below.all[to] {
				below.set(to, at.Namespace, at.Name, ready, "status")
			}
			if !from.Status {
				m.above.set(from.GroupVersionResource, "default", "web", ready, "status")
			}
			w.settle(s, m.input)
			tc.change(m, at)
			w.settle(s, m.input)
			got := m.above.get(from.GroupVersionResource, w.input.Object).Object["status"]
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestServiceRestored shows that a copy gets what it lacks after the service cluster was restored, whichever of copies
// and states is still shown as it was before: until both are shown as they are, nothing counts as synced.
func TestServiceRestored(t *testing.T) {
	copies := things.Service.GroupVersionResource
	for name, tc := range map[string]struct {
		reason  string
		late    schema.GroupVersionResource
		changed bool // by the consumer meanwhile
	}{
		"StatesFirst":        {reason: "The copy is said to have it all.", late: copies},
		"StatesFirstChanged": {reason: "Or all but the last.", late: copies, changed: true},
		"CopiesFirstChanged": {
			reason: "All but the last is said to be copied.", late: objectsync.Secrets,
			changed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			s := w.syncer(&v1alpha1.PublishedResourceSpec{})
			want := map[string]any{"a": int64(2), "b": int64(2)}
			enter(w.input, map[string]any{"a": int64(1), "b": int64(1)})
			w.settle(s, w.input)
			backup := map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured{}
			for r, all := range below.all {
				backup[r] = maps.Clone(all)
			}
			enter(w.input, want)
			w.settle(s, w.input)
			was := maps.Clone(below.all[tc.late])
			below.all = backup
			if tc.changed {
				want = map[string]any{"a": int64(2), "b": int64(3)}
				enter(w.input, want)
			}
			late := w.input
			late.Service = through(late.Service, tc.late,
				func(n types.NamespacedName, _ *unstructured.Unstructured) (*unstructured.Unstructured, error) {
					return was[n], nil
				})
			if _, err := s.Sync(t.Context(), late); !apierrors.IsConflict(err) {
				t.Errorf("%s Want a conflict, got %v", tc.reason, err)
			}
			w.settle(s, w.input)
			if diff := cmp.Diff(want, w.theCopy(w.cluster).Object["spec"]); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// located returns how related objects are found.
func located(spec v1alpha1.RelatedResourceObjectSpec) v1alpha1.RelatedResourceObject {
	return v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: spec}
}

// byTemplate is a step of mutation.
func byTemplate(path v1alpha1.MutationPath, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{Path: path, Template: text}}
}

// TestToldWhatToDo shows that a consumer who alone can cure a failure, or has to ask, is not told that it is tried
// again, and learns no value.
func TestToldWhatToDo(t *testing.T) {
	const private = "hunter2!"
	byTemplate := func(text string) *v1alpha1.PublishedResourceSpec {
		return related(v1alpha1.OriginService,
			located(v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: text}}))
	}
	reference := byReference("spec.long")
	reference.Reference.Regex = &v1alpha1.RegularExpression{Pattern: "x", Replacement: "y"}
	for name, tc := range map[string]struct {
		reason string
		spec   *v1alpha1.PublishedResourceSpec
		want   string
	}{
		"Name": {
			reason: "A name cannot be made of a number.", want: objectsync.ReasonCannotMutate,
			spec: &v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: "{{ upper .Object.spec.size }}"}},
		},
		"Related": {
			reason: "Nor that of a related object.", want: objectsync.ReasonCannotMutate,
			spec: byTemplate("{{ upper .Object.spec.size }}"),
		},
		"Reference": {
			reason: "A boolean is no name.", want: objectsync.ReasonInvalidRelated,
			spec: related(v1alpha1.OriginService, byReference("spec.on")),
		},
		"Long": {
			reason: "A long text is not looked through.", want: objectsync.ReasonTooLarge,
			spec: related(v1alpha1.OriginService, reference),
		},
		"Label": {
			reason: "What is no label selects nothing.", want: objectsync.ReasonInvalidRelated,
			spec: related(v1alpha1.OriginService, selecting("x", "{{ .RemoteObject.spec.secretName }}")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := withoutServers(t)
			enter(w.input, map[string]any{
				"size": int64(1), "on": true, "long": strings.Repeat("x", 20_000), "secretName": private,
			})
			r, err := w.syncer(tc.spec).Sync(t.Context(), w.input)
			if err == nil || strings.Contains(err.Error(), private) {
				t.Errorf("want an error without a value, got %v", err)
			}
			var got []string
			for _, e := range r.Events {
				if e.Type == "Warning" {
					got = append(got, e.Reason)
				}
				if strings.Contains(e.Message, "tries again") || strings.Contains(e.Message, private) {
					t.Errorf("%s, got %q", tc.reason, e.Message)
				}
			}
			if diff := cmp.Diff([]string{tc.want}, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnresolvedRule shows that a rule which cannot be resolved keeps the copies that may be its own, and no others,
// and that its object gets its status all the same, and can be deleted.
func TestUnresolvedRule(t *testing.T) {
	for origin, want := range map[v1alpha1.Origin][]string{
		v1alpha1.OriginService: {"b"}, v1alpha1.OriginKCP: {"a", "b"},
	} {
		t.Run(string(origin), func(t *testing.T) {
			w, below := withoutServers(t)
			spec := related(v1alpha1.OriginKCP, byReference("spec.secretName"))
			also(spec, "other", origin, byReference("spec.other"))
			s := w.syncer(spec)
			for _, name := range []string{"a", "b"} {
				workspaceOf(w.input).secretIn("default", name, "b25l")
			}
			enter(w.input, map[string]any{"secretName": "a"})
			w.settle(s, w.input)
			enter(w.input, map[string]any{"secretName": "b", "other": true})
			if err := w.resync(s, w.input); !errors.Is(err, relatedrules.ErrInvalidName) {
				t.Errorf("want %v, got %v", relatedrules.ErrInvalidName, err)
			}
			if diff := cmp.Diff(want, below.secretNames(w.cluster)); diff != "" {
				t.Errorf("copies: -want, +got:\n%s", diff)
			}
			copied := w.theCopy(w.cluster)
			below.set(things.Service.GroupVersionResource, w.cluster, copied.GetName(), "Ready", "status", "phase")
			if err := w.resync(s, w.input); !errors.Is(err, relatedrules.ErrInvalidName) {
				t.Errorf("want %v, got %v", relatedrules.ErrInvalidName, err)
			}
			got := workspaceOf(w.input).get(things.Workspace.GroupVersionResource, w.input.Object)
			if got.Object["status"] == nil {
				t.Error("want the status, got none")
			}
			if w.remove(s, w.input); len(w.copies(w.cluster))+len(below.secretNames("states")) > 0 {
				t.Error("something is left after the deletion")
			}
		})
	}
}
