package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

type locatedCase struct {
	reason string
	object v1alpha1.RelatedResourceObject
	// want are the names that the Secrets of the service cluster come up by, by <namespace>/<name>. The namespaces are
	// own, which is the consumer's and that of the copy, and a and b, which are labeled on the service cluster.
	want map[string]string
}

func locatedCases(w *world) map[string]locatedCase {
	text := func(s string) *v1alpha1.TemplateExpression { return &v1alpha1.TemplateExpression{Template: s} }
	regex := func(pattern, by string) *v1alpha1.RegularExpression {
		return &v1alpha1.RegularExpression{Pattern: pattern, Replacement: by}
	}
	object := func(o v1alpha1.RelatedResourceObjectSpec,
		ns *v1alpha1.RelatedResourceObjectSpec,
	) v1alpha1.RelatedResourceObject {
		return v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: o, Namespace: ns}
	}
	reference := func(path string, r *v1alpha1.RegularExpression) v1alpha1.RelatedResourceObjectSpec {
		return v1alpha1.RelatedResourceObjectSpec{Reference: &v1alpha1.FieldReference{
			Path: v1alpha1.MutationPath(path), Regex: r,
		}}
	}
	selector := func(s metav1.LabelSelector, by v1alpha1.SelectorRewrite) v1alpha1.RelatedResourceObjectSpec {
		return v1alpha1.RelatedResourceObjectSpec{Selector: &v1alpha1.RelatedResourceSelector{
			LabelSelector: s, Rewrite: by,
		}}
	}
	template := func(s string) v1alpha1.RelatedResourceObjectSpec {
		return v1alpha1.RelatedResourceObjectSpec{Template: text(s)}
	}
	roles := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "role", Operator: metav1.LabelSelectorOpIn, Values: []string{"one", "two"}}, {
			Key: "private", Operator: metav1.LabelSelectorOpDoesNotExist,
		},
	}}
	tenants := selector(metav1.LabelSelector{MatchLabels: map[string]string{"tenant": w.cluster}},
		v1alpha1.SelectorRewrite{Regex: regex("^.*-([ab])$", w.input.Object.Namespace+"-${1}")})
	toA := template(`{{ if eq .Side "kcp" }}` + w.input.Object.Namespace + `{{ else }}` + w.state + `{{ end }}-a`)
	return map[string]locatedCase{
		"Number": {
			reason: "A number is a name.",
			object: object(reference("spec.number", nil), nil),
			want:   map[string]string{"own/7": "own/7"},
		},
		"ReferenceRegex": {
			reason: "The value of a reference can be changed.",
			object: object(reference("spec.secretName", regex("(.+)", "${1}-app")), nil),
			want:   map[string]string{"own/tls-app": "own/tls-app"},
		},
		"NamespaceByReference": {
			reason: "A field can tell the namespace.",
			object: object(template("tls"), new(reference("spec.place", regex("^team/", "")))),
			want:   map[string]string{"a/tls": "a/tls"},
		},
		"NamespaceByTemplate": {
			reason: "So can a template.",
			object: object(template("tls"), &toA),
			want:   map[string]string{"a/tls": "a/tls"},
		},
		"NamespaceBySelector": {
			reason: "Or their labels.",
			object: object(template("tls"), &tenants),
			want:   map[string]string{"a/tls": "a/tls", "b/tls": "b/tls"},
		},
		"Expressions": {
			reason: "Labels are selected by expressions.",
			object: object(selector(roles, v1alpha1.SelectorRewrite{Template: text("{{ .Name }}-foo")}), nil),
			want:   map[string]string{"own/tls": "own/tls-foo", "own/tls-app": "own/tls-app-foo"},
		},
		"SelectorInTemplate": {
			reason: "Rules can be mixed.",
			object: object(selector(roles, v1alpha1.SelectorRewrite{Regex: regex("^tls", `bar-\1x`)}), &toA),
			want:   map[string]string{"a/tls": "a/bar-x"},
		},
		"SelectorInSelector": {
			reason: "In any way.",
			object: object(selector(roles,
				v1alpha1.SelectorRewrite{Template: text("{{ .Value }}-{{ .RelatedObject.metadata.labels.role }}")}), &tenants),
			want: map[string]string{"a/tls": "a/tls-one", "b/tls": "b/tls-one"},
		},
	}
}

// TestLocated shows the ways to find related objects and their namespaces, and to name their copies.
func TestLocated(t *testing.T) {
	w := newWorld(t)
	own := w.input.Object.Namespace
	above := map[string]string{"own": own, "a": own + "-a", "b": own + "-b"}
	below := map[string]string{"own": w.cluster, "a": w.state + "-a", "b": w.state + "-b"}
	w.ensureNamespace(w.cluster)
	for _, ns := range []string{"a", "b"} {
		w.create(w.above, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: above[ns]}})
		w.create(w.below, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: below[ns], Labels: map[string]string{"tenant": w.cluster},
		}})
	}
	for _, s := range []struct{ namespace, name, role, private string }{
		{namespace: "own", name: "7", role: "three", private: ""},
		{namespace: "own", name: "tls", role: "one", private: ""},
		{namespace: "own", name: "tls-app", role: "two", private: ""},
		{namespace: "own", name: "decoy", role: "one", private: "yes"},
		{namespace: "a", name: "tls", role: "one", private: ""},
		{namespace: "a", name: "decoy", role: "three", private: ""},
		{namespace: "b", name: "tls", role: "one", private: ""},
	} {
		o := newSecret(below[s.namespace], s.name, s.namespace+"/"+s.name)
		o.Labels = map[string]string{"role": s.role}
		if s.private != "" {
			o.Labels["private"] = s.private
		}
		w.create(w.below, o)
	}
	for name, tc := range locatedCases(w) {
		t.Run(name, func(t *testing.T) {
			spec := related(v1alpha1.OriginService, tc.object)
			spec.Related[0].Cleanup = true
			spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{
				Namespaces: []v1alpha1.NamePattern{v1alpha1.NamePattern(below["a"])},
			}
			spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{
				byTemplate("spec.place", "team/"+below["a"]),
			}}
			s := w.syncer(spec)
			src := thing(w.input.Object, func(u *unstructured.Unstructured) {
				u.Object["spec"] = map[string]any{
					"number": int64(7), "secretName": "tls", "place": "team/" + above["a"],
				}
			})
			w.create(w.above, src)
			w.mustSync(s, w.input)
			got := map[string]string{}
			for short, ns := range above {
				l := &corev1.SecretList{}
				kube.List(t, w.above, l, client.InNamespace(ns))
				for _, x := range l.Items {
					got[string(x.Data["k"])] = short + "/" + x.Name
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			kube.Delete(t, w.above, src)
			w.mustSync(s, w.input)
		})
	}
}
