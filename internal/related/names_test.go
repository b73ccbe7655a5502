package related_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// found returns whatever is selected, by a name that tells how it was.
func found(_ string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName(strings.ReplaceAll(s.String(), "=", "-"))
	return []*unstructured.Unstructured{u}, nil
}

// view returns the two sides of one of many objects.
func view(i int) related.View {
	v := related.View{
		In:        gotemplate.Workspace{Cluster: fmt.Sprint("c", i)},
		Workspace: &unstructured.Unstructured{Object: map[string]any{}},
		Service:   &unstructured.Unstructured{Object: map[string]any{}},
	}
	v.Workspace.SetName(fmt.Sprint("web", i))
	v.Service.SetName(fmt.Sprint("copy", i))
	return v
}

// TestSelectorOfEach shows that a selector is filled in for each object anew, keys and values, that of objects and that
// of their namespaces, also while it is for others: else an object would get what is another tenant's.
func TestSelectorOfEach(t *testing.T) {
	of := func(key string) spec {
		return selector("{{ .LocalObject.metadata.name }}-{{ .Value }}",
			map[string]string{key + "-{{ .ClusterName }}": "{{ .RemoteObject.metadata.name }}"})
	}
	r := rule(t, v1alpha1.OriginService, v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: of("of"), Namespace: new(of("in")),
	}, nil)
	find := related.Finder{Namespaces: related.Source{Select: found}, Objects: related.Source{Select: found}}
	var wg sync.WaitGroup
	for i := range 8 {
		v := view(i)
		label, copied := fmt.Sprintf("-c%d-web%d", i, i), fmt.Sprintf("copy%d-", i)
		want := []related.Names{{
			From: types.NamespacedName{Namespace: "in" + label, Name: "of" + label},
			To:   types.NamespacedName{Namespace: copied + "in" + label, Name: copied + "of" + label},
		}}
		wg.Go(func() {
			for range 200 {
				got, err := r.Names(v, find)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("object %d: want what it selects and no more, got error %v, -want, +got:\n%s", i, err, diff)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestNames shows the ways to find related objects and their namespaces, and to name their copies.
func TestNames(t *testing.T) {
	object := func(namespace, name string, labels map[string]string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetLabels(labels)
		return u
	}
	role := func(is string) map[string]string { return map[string]string{"role": is} }
	all := []*unstructured.Unstructured{
		object("", "below-a", map[string]string{"tenant": "c1"}), object("", "below-b", map[string]string{"tenant": "c1"}),
		object("", "below-c", map[string]string{"tenant": "c2"}),
		object("copies", "tls", role("one")), object("copies", "tls-app", role("two")), object("copies", "7", role("three")),
		object("copies", "decoy", map[string]string{"role": "one", "private": "yes"}),
		object("below-a", "tls", role("one")), object("below-a", "decoy", role("three")),
		object("below-b", "tls", role("one")),
	}
	selected := func(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
		return slices.DeleteFunc(slices.Clone(all), func(u *unstructured.Unstructured) bool {
			return u.GetNamespace() != namespace || !s.Matches(labels.Set(u.GetLabels()))
		}), nil
	}
	source := related.Source{
		Select: func(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
			found, err := selected(namespace, s)
			for i, u := range found {
				found[i] = object(u.GetNamespace(), u.GetName(), nil) // Labels may be content that is read.
			}
			return found, err
		},
		Read: func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			i := slices.IndexFunc(all, func(x *unstructured.Unstructured) bool {
				return x.GetNamespace() == u.GetNamespace() && x.GetName() == u.GetName()
			})
			return all[i], nil
		},
	}
	find := related.Finder{Namespaces: source, Objects: source}
	by := func(path string, r *v1alpha1.RegularExpression) spec {
		return spec{Reference: &v1alpha1.FieldReference{Path: v1alpha1.MutationPath(path), Regex: r}}
	}
	regex := func(pattern, by string) *v1alpha1.RegularExpression {
		return &v1alpha1.RegularExpression{Pattern: pattern, Replacement: by}
	}
	roles := func(r v1alpha1.SelectorRewrite) spec {
		s := &v1alpha1.RelatedResourceSelector{Rewrite: r}
		s.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: "role", Operator: metav1.LabelSelectorOpIn, Values: []string{"one", "two"}},
			{Key: "private", Operator: metav1.LabelSelectorOpDoesNotExist},
		}
		return spec{Selector: s}
	}
	text := func(s string) v1alpha1.SelectorRewrite {
		return v1alpha1.SelectorRewrite{Template: &v1alpha1.TemplateExpression{Template: s}}
	}
	tenants := selector("", map[string]string{"tenant": "{{ .ClusterName }}"})
	tenants.Selector.Rewrite = v1alpha1.SelectorRewrite{Regex: regex("^below-", "above-")}
	toA := template(`{{ if eq .Side "kcp" }}above{{ else }}below{{ end }}-a`)
	for name, tc := range map[string]struct {
		reason    string
		object    spec
		namespace *spec
		change    func(above, below map[string]any) // of the spec
		unplaced  bool                              // The consumer's object has no namespace.
		want      []string                          // each on the service cluster, and in the workspace
		err       error
	}{
		"Number": {reason: "A number is a name.", object: by("spec.number", nil), want: []string{"copies/7 default/7"}},
		"Regex": {
			reason: "The value of a reference can be changed.", object: by("spec.name", regex("(.+)", "${1}-app")),
			want: []string{"copies/tls-app default/tls-app"},
		},
		"Mutated": {
			reason: "A reference is followed on both sides.", object: by("spec.name", nil),
			change: func(_, below map[string]any) { below["name"] = "made" }, want: []string{"copies/made default/tls"},
		},
		"Array": {
			reason: "It may yield several, and what has none is left out.", object: by("spec.items.#.name", nil),
			want: []string{"copies/a default/a", "copies/b default/b"},
		},
		"Uneven": {
			reason: "As many on both sides.", object: by("spec.items.#.name", nil), err: related.ErrInvalidName,
			change: func(_, below map[string]any) { below["items"] = []any{map[string]any{"name": "a"}} },
		},
		"Missing": {reason: "A field that is missing names nothing yet.", object: by("spec.none", nil)},
		"NoName": {
			reason: "What is no name is refused.", object: by("spec.name", nil), err: related.ErrInvalidName,
			change: func(above, _ map[string]any) { above["name"] = "No Name" },
		},
		"Template": {
			reason: "A template makes a name on each side.",
			object: template(`{{ if eq .Side "kcp" }}made{{ else }}{{ .Object.metadata.name }}-made{{ end }}`),
			want:   []string{"copies/copy-made default/made"},
		},
		"TemplateMissing": {reason: "One without a value names nothing yet.", object: template("a-{{ .Object.spec.none }}")},
		"NamespaceByReference": {
			reason: "A field can tell the namespace.", object: template("tls"),
			namespace: new(by("spec.place", regex("^team/", ""))), want: []string{"below-a/tls above-a/tls"},
		},
		"NamespaceByTemplate": {
			reason: "So can a template.", object: template("tls"), namespace: &toA, want: []string{"below-a/tls above-a/tls"},
		},
		"NamespaceBySelector": {
			reason: "Or their labels.", object: template("tls"), namespace: &tenants,
			want: []string{"below-a/tls above-a/tls", "below-b/tls above-b/tls"},
		},
		"Expressions": {
			reason: "Labels are selected by expressions.", object: roles(text("{{ .Name }}-foo")),
			want: []string{"copies/tls default/tls-foo", "copies/tls-app default/tls-app-foo"},
		},
		"SelectorInTemplate": {
			reason: "Rules can be mixed.", object: roles(v1alpha1.SelectorRewrite{Regex: regex("^tls", `bar-\1x`)}),
			namespace: &toA, want: []string{"below-a/tls above-a/bar-x"},
		},
		"SelectorInSelector": {
			reason: "In any way.", object: roles(text("{{ .Value }}-{{ .RelatedObject.metadata.labels.role }}")),
			namespace: &tenants, want: []string{"below-a/tls above-a/tls-one", "below-b/tls above-b/tls-one"},
		},
		"NoNamespace": {
			reason: "An object without a namespace has to say where its related ones are.", object: template("tls"),
			unplaced: true, err: related.ErrNoNamespace,
		},
		"NoNamespaceNeeded": {
			reason: "If it says so it needs none.", object: template("tls"), namespace: &toA, unplaced: true,
			want: []string{"below-a/tls above-a/tls"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			side := func(namespace, name, place string) *unstructured.Unstructured {
				u := object(namespace, name, nil)
				u.Object["spec"] = map[string]any{
					"number": int64(7), "name": "tls", "place": "team/" + place, "items": []any{
						map[string]any{"name": "a"},
						map[string]any{"name": ""},
						map[string]any{"other": "x"},
						map[string]any{"name": "b"},
					},
				}
				return u
			}
			v := related.View{
				In:        gotemplate.Workspace{Cluster: "c1"},
				Workspace: side("default", "web", "above-a"), Service: side("copies", "copy", "below-a"),
			}
			if tc.unplaced {
				v.Workspace.SetNamespace("")
			}
			if tc.change != nil {
				tc.change(v.Workspace.Object["spec"].(map[string]any), v.Service.Object["spec"].(map[string]any))
			}
			names, err := rule(t, v1alpha1.OriginService, v1alpha1.RelatedResourceObject{
				RelatedResourceObjectSpec: tc.object, Namespace: tc.namespace,
			}, nil).Names(v, find)
			if !errors.Is(err, tc.err) {
				t.Errorf("%s Want %v, got %v", tc.reason, tc.err, err)
			}
			var got []string
			for _, n := range names {
				got = append(got, n.From.String()+" "+n.To.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
