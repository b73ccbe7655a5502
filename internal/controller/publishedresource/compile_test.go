package publishedresource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestCompile shows that each text of a spec that does not compile is reported with its field, and all of them at once.
func TestCompile(t *testing.T) {
	const related = "related:\n- {identifier: ok, origin: kcp, kind: Secret, object: {reference: {path: spec.a}}}\n" +
		"- {identifier: tls, origin: service, kind: Secret, "
	for name, tc := range map[string]struct {
		reason, spec string
		want         []string // the fields
	}{
		"Compiles": {
			reason: "What compiles is no error.",
			spec: "naming: {name: $remoteName, namespace: '{{ .ClusterName }}'}\n" +
				"filter: {namespace: {matchLabels: {a: b}}}\n" +
				"createdNamespaces: {labels: {a: '{{ .ClusterName }}'}}\n" +
				"mutation: {spec: [{cel: {path: spec.a, expression: 'self.spec.b'}}]}\n" +
				related + "object: {template: {template: '{{ .ClusterName }}'}}}",
		},
		"NamespaceNumber": {
			reason: "A number selects nothing.",
			spec:   "filter: {namespace: 7}",
			want:   []string{"spec.filter.namespace"},
		},
		"NamespaceOperator": {
			reason: "Neither does this.",
			spec:   "filter: {namespace: {matchExpressions: [{key: a, operator: Is}]}}",
			want:   []string{"spec.filter.namespace"},
		},
		"Selector": {
			reason: "Nor this.",
			spec:   "filter: {resource: {matchExpressions: [{key: a, operator: Is}]}}",
			want:   []string{"spec.filter.resource"},
		},
		"Name": {
			reason: "Names are templates.",
			spec:   "naming: {name: '{{ .Object'}",
			want:   []string{"spec.naming.name"},
		},
		"Namespace": {
			reason: "So are namespaces.",
			spec:   "naming: {namespace: '{{ now }}'}",
			want:   []string{"spec.naming.namespace"},
		},
		"Label": {
			reason: "And labels.",
			spec:   "createdNamespaces: {labels: {a: '{{ if }}'}}",
			want:   []string{"spec.createdNamespaces.labels[a]"},
		},
		"Steps": {
			reason: "All steps are told of, and of each the part that does not compile.",
			spec: "mutation:\n  spec: [{delete: {path: a}}, {delete: {path: .a}}, {regex: {path: 'a|b'}},\n" +
				"    {regex: {path: a, pattern: '('}}, {template: {path: a, template: '{{ x }}'}},\n" +
				"    {template: {path: '@a', template: x}}, {cel: {path: a, expression: 'self.'}},\n" +
				"    {cel: {path: 'a!', expression: '1'}}]\n  status: [{cel: {path: a, expression: 'nobody'}}]",
			want: []string{
				"spec.mutation.spec[1].delete.path", "spec.mutation.spec[2].regex.path", "spec.mutation.spec[3].regex.pattern",
				"spec.mutation.spec[4].template.template", "spec.mutation.spec[5].template.path",
				"spec.mutation.spec[6].cel.expression", "spec.mutation.spec[7].cel.path",
				"spec.mutation.status[0].cel.expression",
			},
		},
		"RelatedPath": {
			reason: "Fields that hold names are paths.",
			spec:   related + "object: {reference: {path: .a}}}", want: []string{"spec.related[1].object.reference.path"},
		},
		"RelatedPattern": {
			reason: "What they hold can be changed.",
			spec:   related + "object: {reference: {path: a, regex: {pattern: '['}}}}",
			want:   []string{"spec.related[1].object.reference.regex.pattern"},
		},
		"RelatedTemplate": {
			reason: "Steps and namespaces of related objects are compiled, too.",
			spec: related + "mutation: {spec: [{delete: {path: ''}}]}, object: {reference: {path: a}, " +
				"namespace: {template: {template: '{{'}}}}",
			want: []string{"spec.related[1].mutation.spec[0].delete.path", "spec.related[1].object.namespace.template.template"},
		},
		"RelatedLabel": {
			reason: "Labels are templates.",
			spec: related + "object: {selector: {matchLabels: {a: '{{ b }}', b: '{{ b }}'}, " +
				"rewrite: {regex: {pattern: a}}}}}",
			want: []string{"spec.related[1].object.selector.matchLabels[a]"},
		},
		"RelatedExpressions": {
			reason: "An operator must exist.",
			spec: related + "object: {selector: {matchExpressions: [{key: a, operator: Is}], " +
				"rewrite: {regex: {pattern: a}}}}}",
			want: []string{"spec.related[1].object.selector.matchExpressions"},
		},
		"RelatedRewrite": {
			reason: "Names of what labels select are made by templates.",
			spec:   related + "object: {selector: {matchLabels: {a: b}, rewrite: {template: {template: '{{ end }}'}}}}}",
			want:   []string{"spec.related[1].object.selector.rewrite.template.template"},
		},
		"FormerPath": {
			reason: "Fields are called as the author has called them.",
			spec:   related + "reference: {name: {path: a}, namespace: {path: .a}}}",
			want:   []string{"spec.related[1].reference.namespace.path"},
		},
		"Identities": {
			reason: "An APIExport claims a resource with one identity.",
			spec: "related:\n- {identifier: a, origin: kcp, group: g, version: v1, resource: rs, identityHash: abc, " +
				"object: {reference: {path: a}}}\n- {identifier: b, origin: kcp, group: g, version: v1, resource: rs, " +
				"identityHash: def, object: {reference: {path: a}}}",
			want: []string{`spec.related has two identityHashes for rs.g, "abc" and "def"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: "things"}}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &o.Spec); err != nil {
				t.Fatal(err)
			}
			var got []string
			if all := Compile(o); all != nil {
				for _, err := range all.Errors() {
					at, _, _ := strings.Cut(err.Error(), ": ")
					got = append(got, at)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s\n%v", tc.reason, diff, Compile(o))
			}
		})
	}
}
