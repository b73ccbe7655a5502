package objectsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	relatedrules "github.com/crossplane-contrib/provider-kcp/internal/related"
)

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
				if strings.Contains(e.Message, "tried again") || strings.Contains(e.Message, private) {
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
