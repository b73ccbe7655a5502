package publishedresource_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// brokenSpecs break a spec, by the field that is to be named. Regular expressions are refused by the API server.
var brokenSpecs = map[string]func(*v1alpha1.PublishedResourceSpec){
	"spec.mutation.spec[0].cel.expression": func(s *v1alpha1.PublishedResourceSpec) {
		s.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{{
			CEL: &v1alpha1.CELMutation{Path: "spec.note", Expression: "self.spec.size +"},
		}}}
	},
	"spec.mutation.spec[0].template.template": func(s *v1alpha1.PublishedResourceSpec) {
		s.Mutation = template("spec.note", "{{ .LocalObject | nosuchfunction }}")
	},
	"spec.mutation.spec[0].template.path": func(s *v1alpha1.PublishedResourceSpec) {
		s.Mutation = template(".spec.note", "note")
	},
	"spec.naming.name": func(s *v1alpha1.PublishedResourceSpec) {
		s.Naming = &v1alpha1.ResourceNaming{Name: "{{ .Object.metadata.name"}
	},
	"spec.related[1].object.reference.path": func(s *v1alpha1.PublishedResourceSpec) {
		s.Related[1].Object = byField("spec.keyName|@reverse")
	},
	"spec.filter.namespace": func(s *v1alpha1.PublishedResourceSpec) {
		s.Filter = &v1alpha1.ResourceFilter{Namespace: &apiextensionsv1.JSON{Raw: []byte(`7`)}}
	},
}

// TestBrokenSpec shows that a spec that does not compile is reported with its field, and that nothing of it is
// published. Such a change of a served PublishedResource leaves what is served as it is, also for who binds the API
// then. A correction heals each.
func TestBrokenSpec(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "certs", "secretName", "keyName", "note"))
	o := s.publishedCerts(local.Namespace(t))
	good := *o.Spec.DeepCopy()
	set := func(change func(*v1alpha1.PublishedResourceSpec)) {
		o.Spec = *good.DeepCopy()
		change(&o.Spec)
	}
	breakEach := func() {
		t.Helper()
		for field, change := range brokenSpecs {
			update(t, s.c, o, func() { set(change) })
			awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonInvalidSpec), field+": ")
		}
	}
	set(brokenSpecs["spec.naming.name"])
	kube.Create(t, s.c, o)
	breakEach()
	if e := s.export(t); schemaOf(e, "certs") != "" || len(e.Spec.PermissionClaims) != 0 {
		t.Errorf("a broken spec is published: %+v", e.Spec)
	}

	update(t, s.c, o, func() { set(func(*v1alpha1.PublishedResourceSpec) {}) })
	awaitPublished(t, s.c, o)
	in, web := s.tenant(t), s.cert("web")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	breakEach()
	s.issue(t, copied, "served")
	awaitIssued(t, in, web, "served")
	await(t, s.c, o, is(xpv2.TypeReady, ""), is(v1alpha1.TypeSchemaPublished, ""), is(v1alpha1.TypeExportUpdated, ""))
	late := s.tenant(t)
	kube.Create(t, late, s.cert("web"))
	s.copyOf(t, late)

	update(t, s.c, o, func() {
		set(func(spec *v1alpha1.PublishedResourceSpec) {
			spec.Mutation = template("spec.note", "for {{ .RemoteObject.metadata.name }}{{ .LocalObject.metadata.name }}")
		})
	})
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
	s.awaitNotes(t, in, 1)
	s.awaitNotes(t, late, 1)
}
