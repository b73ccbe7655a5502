package related_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// rule compiles a rule, of Secrets from the service cluster unless it says otherwise.
func rule(t *testing.T, origin v1alpha1.Origin, object v1alpha1.RelatedResourceObject, open *v1alpha1.ConsumerMayName,
) *related.Rule {
	t.Helper()
	r, err := related.New(&v1alpha1.RelatedResource{
		Identifier: "tls", Origin: origin, Kind: "Secret", Object: &object, ConsumerMayName: open,
	}, v1alpha1.ScopeNamespaced, v1alpha1.ScopeNamespaced)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type spec = v1alpha1.RelatedResourceObjectSpec

func template(text string) spec {
	return spec{Template: &v1alpha1.TemplateExpression{Template: text}}
}

func reference(regex *v1alpha1.RegularExpression) spec {
	return spec{Reference: &v1alpha1.FieldReference{Path: "spec.name", Regex: regex}}
}

func selector(rewrite string, labels map[string]string) spec {
	s := &v1alpha1.RelatedResourceSelector{Rewrite: v1alpha1.SelectorRewrite{
		Template: &v1alpha1.TemplateExpression{Template: rewrite},
	}}
	s.MatchLabels = labels
	return spec{Selector: s}
}

// TestAccess shows who may name which place on the service cluster. The copy is in namespace copies or, where that is
// the workspace's own, in c1. Namespace others has copies of other workspaces alone.
func TestAccess(t *testing.T) {
	const service, kcp = v1alpha1.OriginService, v1alpha1.OriginKCP
	side := func(text string) *spec {
		return new(template(`{{ if eq .Side "kcp" }}x{{ else }}` + text + `{{ end }}`))
	}
	everything := &v1alpha1.ConsumerMayName{
		Namespaces: []v1alpha1.NamePattern{"*"}, Objects: []v1alpha1.NamePattern{"*"},
	}
	names := func(patterns ...v1alpha1.NamePattern) *v1alpha1.ConsumerMayName {
		return &v1alpha1.ConsumerMayName{Objects: patterns}
	}
	named, made := reference(nil), template("made")
	twoWays, twoRewrites := spec{Reference: named.Reference, Template: made.Template}, selector("made", nil)
	twoRewrites.Selector.Rewrite.Regex = &v1alpha1.RegularExpression{Pattern: "(.+)", Replacement: "${1}"}
	for name, tc := range map[string]struct {
		reason    string
		origin    v1alpha1.Origin
		object    spec
		namespace *spec
		open      *v1alpha1.ConsumerMayName
		own       bool // whether the copy is in the workspace's own namespace
		owned     bool
		at        string // namespace/name, or a name in the namespace of the copy; without a namespace, /name
		want      bool
		looked    bool // whether the namespace is looked at
	}{
		// 1. Closed namespaces.
		"System": {
			reason: "Nobody names a namespace of the system.", origin: service, object: made, namespace: side("kube-system"),
			open: everything, owned: true, at: "kube-system/made",
		},
		"States": {
			reason: "Nor that of states.", origin: kcp, object: made, namespace: side("states"),
			open: everything, owned: true, at: "states/made",
		},
		"Others": {
			reason: "Nor one with copies of others alone, if a consumer leads there.", origin: kcp, object: made,
			namespace: &named, open: everything, owned: true, at: "others/made",
		},
		"OthersByOwner": {
			reason: "The owner may.", origin: kcp, object: made, namespace: side("others"), at: "others/made",
			want: true, looked: true,
		},
		// 2. Constants.
		"Constant": {
			reason: "A constant is the owner's word.", origin: service, object: made, at: "made", want: true, looked: true,
		},
		"ConstantOfSide": {
			reason: "Also of one side alone.", origin: service, object: *side("made"), namespace: side("shared"),
			at: "shared/made", want: true, looked: true,
		},
		"ConstantWithoutNamespace": {
			reason: "Also of what has no namespace.", origin: service, object: made, at: "/made", want: true, looked: true,
		},
		"ConstantByRegex": {
			reason: "A reference of which nothing is left is one.", origin: service,
			object: reference(&v1alpha1.RegularExpression{Replacement: "made"}), at: "made", want: true, looked: true,
		},
		"Labels": {
			reason: "So are labels that select.", origin: service,
			object: selector("{{ .Value }}", map[string]string{"app": "tls"}), at: "any", want: true, looked: true,
		},
		"Rewritten": {
			reason: "And what a selector makes of names in the workspace.", origin: kcp,
			object: selector("made", map[string]string{"app": "{{ .RemoteObject.spec.name }}"}), at: "made",
			want: true, looked: true,
		},
		// 3. The workspace's own.
		"Own": {
			reason: "In the namespace of the workspace all can be named.", origin: service, object: named, own: true,
			at: "any", want: true, looked: true,
		},
		"OwnByRule": {
			reason: "So it can in another one of its own.", origin: kcp, object: named, namespace: side("a-{{ .ClusterName }}"),
			at: "a-c1/any", want: true, looked: true,
		},
		"OwnName": {
			reason: "A name can be its own, too.", origin: service,
			object: template("{{ .ClusterName }}-{{ .Object.spec.name }}"),
			at:     "c1-any", want: true, looked: true,
		},
		"OwnLabel": {
			reason: "But no label, which others can have written.", origin: service,
			object: selector("{{ .Value }}", map[string]string{"tenant": "{{ .ClusterName }}"}), at: "any", looked: true,
		},
		"OwnLabelOfNamespace": {
			reason: "Unless it is one of namespaces.", origin: service, object: named,
			namespace: new(selector("", map[string]string{"tenant": "{{ .ClusterName }}"})), at: "shared/any",
			want: true, looked: true,
		},
		"OwnWithoutNamespace": {
			reason: "What has no namespace is in none of its own.", origin: service, object: named,
			namespace: side("a-{{ .ClusterName }}"), own: true, at: "/any", looked: true,
		},
		"OwnOfAnother": {
			reason: "The namespace of the copy opens no other one.", origin: service, object: named,
			namespace: side("shared"), own: true, at: "shared/any", looked: true,
		},
		// 4. Evidence.
		"Owned": {
			reason: "What the copy owns is the consumer's.", origin: service, object: named, owned: true, at: "any",
			want: true, looked: true,
		},
		"OwnedElsewhere": {
			reason: "But nothing is read in a namespace that is closed.", origin: service, object: named, namespace: &named,
			owned: true, at: "shared/any",
		},
		// 5. consumerMayName.
		"Opened": {
			reason: "The owner opens names.", origin: service, object: named, open: names("db-*"), at: "db-a",
			want: true, looked: true,
		},
		"OpenedOther": {
			reason: "And not others.", origin: service, object: named, open: names("db-*"), at: "a-db-a", looked: true,
		},
		"OpenedOwn": {
			reason: "A pattern can have the name of the logical cluster.", origin: kcp, object: named,
			open: names("$remoteClusterName-*"), at: "c1-tls", want: true, looked: true,
		},
		"OpenedOwnOther": {
			reason: "Which is of no use to others.", origin: kcp, object: named, open: names("$remoteClusterName-*"),
			at: "c2-tls", looked: true,
		},
		"OpenedNamespace": {
			reason: "The owner opens namespaces.", origin: kcp, object: made, namespace: &named, open: everything,
			at: "shared/made", want: true, looked: true,
		},
		"OpenedNamespaceAlone": {
			reason: "A namespace opens no names.", origin: kcp, object: named, namespace: &named,
			open: &v1alpha1.ConsumerMayName{Namespaces: []v1alpha1.NamePattern{"*"}}, at: "shared/any", looked: true,
		},
		// 6. All else.
		"Reference": {
			reason: "A reference is the consumer's word.", origin: service, object: named, at: "any", looked: true,
		},
		"Regex": {
			reason: "Whatever is made of it.", origin: service,
			object: reference(&v1alpha1.RegularExpression{Pattern: "^(.).*$", Replacement: "made-${1}"}), at: "made-a",
			looked: true,
		},
		"Template": {
			reason: "So is a template with a value.", origin: kcp, object: template("a-{{ .Object.metadata.name }}"),
			at: "a-web", looked: true,
		},
		"Side": {
			reason: "Also of one side alone.", origin: service, object: *side("{{ .Object.metadata.uid }}"), at: "uid",
			looked: true,
		},
		"TwoWays": { // Stored before such a rule was refused.
			reason: "Of two ways that counts by which names are found.", origin: service, object: twoWays, at: "any",
			looked: true,
		},
		"TwoRewrites": {
			reason: "So it is of what makes names.", origin: kcp, object: twoRewrites, at: "any", looked: true,
		},
		"Selected": {
			reason: "And a label.", origin: service,
			object: selector("made", map[string]string{"app": "{{ .LocalObject.metadata.name }}"}), at: "any", looked: true,
		},
		"RewrittenByValue": {
			reason: "And what a selector makes of a name.", origin: kcp,
			object: selector("a-{{ .Value }}", map[string]string{"app": "tls"}), at: "a-b", looked: true,
		},
		"Namespace": {
			reason: "And a namespace.", origin: service, object: made, namespace: &named, at: "shared/made",
		},
		"NamespaceOfCopy": {
			reason: "Unless that is the one of the copy.", origin: service, object: made, namespace: &named,
			at: "made", want: true, looked: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rule(t, tc.origin, v1alpha1.RelatedResourceObject{
				RelatedResourceObjectSpec: tc.object, Namespace: tc.namespace,
			}, tc.open)
			tenant := related.Tenant{
				Cluster: "c1", CopyNamespace: "copies", StateNamespace: "states", OwnsCopyNamespace: tc.own,
				HasOthers: func(namespace string) (bool, error) { return namespace == "others", nil },
			}
			if tc.own {
				tenant.CopyNamespace = "c1"
			}
			at := place(tc.at, tenant.CopyNamespace)
			refused, err := r.AdmitsNamespace(tenant, at.Namespace)
			if err != nil || (refused == nil) != tc.looked {
				t.Errorf("%s Looked at: want %t, got %v, %v", tc.reason, tc.looked, refused, err)
			}
			refused, err = r.Admits(tenant, at, tc.owned)
			if err != nil || (refused == nil) != tc.want {
				t.Errorf("%s Admitted: want %t, got %v, %v", tc.reason, tc.want, refused, err)
			}
		})
	}
}

// place reads namespace/name.
func place(text, copies string) types.NamespacedName {
	if i := slices.Index([]byte(text), '/'); i >= 0 {
		return types.NamespacedName{Namespace: text[:i], Name: text[i+1:]}
	}
	return types.NamespacedName{Namespace: copies, Name: text}
}
