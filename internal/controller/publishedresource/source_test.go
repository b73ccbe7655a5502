package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestEvolve shows that each change of a published CustomResourceDefinition makes a new schema and is offered to
// consumers, that a change which is undone uses the old schema again, and that what others have added
// to the APIExport stays.
func TestEvolve(t *testing.T) {
	s := openShop(t)
	s.offerBoats(t)
	s.publish(t, "hats")
	first := s.awaitSchema(t, "hats", "")
	consumer := s.consumer(t, exportName)

	last := first
	for _, field := range []string{"brim", "feather", "band"} {
		redefine(t, s.c, "hats."+s.group,
			func(d *apiextensionsv1.CustomResourceDefinition) { setField(d, field, true) })
		last = s.awaitSchema(t, "hats", last)
	}
	hat := s.object("Hat", "bowler")
	hat.Object["spec"].(map[string]any)["feather"] = "blue"
	kube.Eventually(t, "a consumer can use the new field", func() (bool, string) {
		u := hat.DeepCopy()
		u.SetGenerateName("bowler-")
		u.SetName("")
		err := consumer.Create(t.Context(), u)
		spec, _ := u.Object["spec"].(map[string]any)
		return err == nil && spec["feather"] == "blue", "not yet"
	})

	redefine(t, s.c, "hats."+s.group, func(d *apiextensionsv1.CustomResourceDefinition) {
		for _, field := range []string{"brim", "feather", "band"} {
			setField(d, field, false)
		}
	})
	if undone := s.awaitSchema(t, "hats", last); undone != first {
		t.Errorf("a change that is undone must use the old schema %s again, got %s", first, undone)
	}
	if got := schemaOf(s.export(t), "boats"); got != boats {
		t.Errorf("the resource of a stranger in the APIExport: got schema %q", got)
	}
	schemas := &apisv1alpha1.APIResourceSchemaList{}
	kube.List(t, kcp.Client(t, s.admin), schemas)
	if len(schemas.Items) != 5 {
		t.Errorf("want one schema of boats, and four of hats, which are kept, got %d schemas", len(schemas.Items))
	}
}

// TestBuiltIn shows that an API without a CustomResourceDefinition can be published, under another group as kcp wants
// it.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.offer(t, s.published("deployments", "Deployment"), s.asKind("apps", "Workload"))
	w := s.object("Workload", "web")
	w.Object["spec"] = map[string]any{
		"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"name": "web"},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}},
		},
	}
	kcp.CreateServed(t, s.consumer(t, exportName).cfg, w)
}

// TestUnavailableGroup shows that a group of the service cluster whose server does not answer keeps no other API from
// being published, be it defined or built in.
func TestUnavailableGroup(t *testing.T) {
	s := openShop(t)
	dead := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "dead." + s.group, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
		"insecureSkipTLSVerify": true,
		"service":               map[string]any{"namespace": "default", "name": "dead"},
	}}}
	dead.SetAPIVersion("apiregistration.k8s.io/v1")
	dead.SetKind("APIService")
	dead.SetName("v1.dead." + s.group)
	kube.Create(t, s.c, dead)
	defer func() {
		if err := client.IgnoreNotFound(s.c.Delete(t.Context(), dead)); err != nil {
			t.Error(err)
		}
	}()
	d, err := discovery.NewDiscoveryClientForConfig(local.Config())
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "discovery to fail in part", func() (bool, string) {
		_, _, err := d.ServerGroupsAndResources()
		return discovery.IsGroupDiscoveryFailedError(err), fmt.Sprint(err)
	})
	s.publish(t, "hats")
	s.offer(t, s.published("sets", "StatefulSet"), s.asKind("apps", "Keeper"))
}

// TestInvalidSource shows that an API which kcp cannot have is reported, and so is one that is not published yet, by a
// PublishedResource that may only look, and changes nothing; and that it is published once it can and may be, and what
// is selected and still cannot be published is named.
func TestInvalidSource(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.Resource.Versions = []string{"v7", "v8"}
	o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	kube.Create(t, s.c, o)
	await(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, "NotServed"), isNot(xpv2.TypeSynced, "NotServed"))
	redefine(t, s.c, "hats."+s.group, func(d *apiextensionsv1.CustomResourceDefinition) {
		for _, name := range []string{"v7", "v8"} {
			v := *d.Spec.Versions[0].DeepCopy()
			v.Name, v.Storage, v.Served = name, false, name == "v7"
			d.Spec.Versions = append(d.Spec.Versions, v)
		}
	})
	await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonResourceMissing),
		isNot(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonNotPublished))
	if e := s.export(t); len(e.Spec.Resources) != 0 {
		t.Errorf("want nothing published, got %v", e.Spec.Resources)
	}
	update(t, s.c, o, func() { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll} })
	awaitPublished(t, s.c, o)
	awaitMessage(t, s.c, o, is(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonPublished), "version v8 is not served")
}

// TestRefusedSchema shows that a schema which kcp refuses is reported in kcp's words, that what is published
// stays, and that a source which kcp accepts is published. A policy of the workspace refuses what is valid in itself.
func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.refuseFeathers(t)
	o := s.publish(t, "hats")
	before := s.export(t)
	name := "hats." + s.group
	redefine(t, s.c, name, func(d *apiextensionsv1.CustomResourceDefinition) { setField(d, "feather", true) })
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, "InvalidSchema"), refusal)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, "InvalidSchema"), refusal)
	await(t, s.c, o, isNot(xpv2.TypeReady, ""))
	if diff := cmp.Diff(before.Spec, s.export(t).Spec); diff != "" {
		t.Errorf("the APIExport must stay as it is: -before, +after:\n%s", diff)
	}
	redefine(t, s.c, name, func(d *apiextensionsv1.CustomResourceDefinition) {
		setField(d, "feather", false)
		addBrim(d)
	})
	s.awaitSchema(t, "hats", schemaOf(before, "hats"))
	awaitPublished(t, s.c, o)
}

// refuseFeathers has the workspace of the shop refuse schemas that name feathers, and waits until it does.
func (s *shop) refuseFeathers(t *testing.T) {
	t.Helper()
	in := kcp.Client(t, s.admin)
	refuse(t, in, "feathers.example.com", admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matching("apis.kcp.io", "apiresourceschemas", admissionv1.Create),
		Validations: []admissionv1.Validation{{
			Expression: "!object.spec.versions.exists(v, 'feather' in v.schema.properties.spec.properties)",
			Message:    refusal,
		}},
	})
	kube.Eventually(t, "refusal", func() (bool, string) {
		hat := kcp.Schema("v1.feathers.other.example.com", "other.example.com", "feathers", "Feather")
		hat.Spec.Versions[0].Schema.Raw = []byte(`{"type":"object","properties":{"spec":{"type":"object",` +
			`"properties":{"feather":{"type":"string"}}}}}`)
		return isRefused(in.Create(t.Context(), hat, client.DryRunAll))
	})
}

// versions gives a definition versions with the content of the one it has. The last is stored, and those named are
// served.
func versions(d *apiextensionsv1.CustomResourceDefinition, names []string, served ...string) {
	one := d.Spec.Versions[0]
	d.Spec.Versions = nil
	for i, name := range names {
		v := *one.DeepCopy()
		v.Name, v.Served, v.Storage = name, false, i == len(names)-1
		for _, s := range served {
			v.Served = v.Served || s == name
		}
		d.Spec.Versions = append(d.Spec.Versions, v)
	}
}

// TestVersionsStay shows that a version which is not served any more, or not selected, stays in the schema without
// being served: objects that kcp stores in it are listed, changed, synced and deleted in another version, also those of
// the version before the last.
func TestVersionsStay(t *testing.T) {
	t.Parallel()
	all := []string{"v1alpha1", "v1", "v2"}
	for name, to := range map[string]func(*testing.T, *shop, *v1alpha1.PublishedResource, int){
		"Definition": func(t *testing.T, s *shop, _ *v1alpha1.PublishedResource, i int) {
			t.Helper()
			redefine(t, s.c, "certs."+s.group,
				func(d *apiextensionsv1.CustomResourceDefinition) { versions(d, all[:i+1], all[i-1:i+1]...) })
			s.awaitVersions(t, map[string]bool{all[i-1]: true, all[i]: true}, all[:max(0, i-1)])
			redefine(t, s.c, "certs."+s.group,
				func(d *apiextensionsv1.CustomResourceDefinition) { versions(d, all[:i+1], all[i]) })
		},
		"Spec": func(t *testing.T, s *shop, o *v1alpha1.PublishedResource, i int) {
			t.Helper()
			if i == 1 {
				redefine(t, s.c, "certs."+s.group,
					func(d *apiextensionsv1.CustomResourceDefinition) { versions(d, all, all...) })
			}
			update(t, s.c, o, func() { o.Spec.Resource.Versions = []string{all[i]} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.version = all[0]
			d := definition(s.group, "certs", "secretName", "keyName", "note")
			versions(d, all[:1], all[0])
			kube.Create(t, s.c, d)
			o := s.offer(t, s.publishedCerts(local.Namespace(t)), func(o *v1alpha1.PublishedResource) {
				if name == "Spec" {
					o.Spec.Resource.Versions = all[:1]
				}
			})
			in := s.tenant(t)
			kube.Create(t, in, s.cert("in-"+all[0]))
			s.copyNamed(t, in, "in-"+all[0])
			for i := 1; i < len(all); i++ {
				to(t, &s, o, i)
				s.awaitVersions(t, map[string]bool{all[i]: true}, all[:i])
				s.version = all[i]
				for _, was := range all[:i] {
					s.use(t, in, "in-"+was)
				}
				kube.Create(t, in, s.cert("in-"+all[i]))
				s.copyNamed(t, in, "in-"+all[i])
			}
			await(t, s.c, o, is(xpv2.TypeReady, ""), is(xpv2.TypeSynced, ""))
			awaitMessage(t, s.c, o, is(v1alpha1.TypeSchemaPublished, ""), "version "+all[0]+", which remains for objects")
			first := s.cert("in-" + all[0])
			s.version = all[0]
			err := in.List(t.Context(), s.list())
			if !apimeta.IsNoMatchError(err) && client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("version %s must not be served, got %v", all[0], err)
			}
			kube.Remove(t, in, first)
		})
	}
}

// use lists, changes and syncs a Cert in the version of the shop.
func (s *shop) use(t *testing.T, in tenant, name string) {
	t.Helper()
	kube.Eventually(t, name+" as "+s.version, func() (bool, string) {
		list := s.list()
		err := in.List(t.Context(), list)
		for i := range list.Items {
			if list.Items[i].GetName() == name {
				return true, ""
			}
		}
		return false, fmt.Sprint(err, describeAll(list.Items))
	})
	u := s.cert(name)
	kube.Patch(t, in, u, `{"spec":{"note":"`+s.version+`"}}`)
	copied := s.copyNamed(t, in, name)
	awaitField(t, s.c, copied, s.version, "spec", "note")
	patchStatus(t, s.c, copied, s.version)
	awaitField(t, in, u, s.version, "status", "phase")
}

// awaitVersions waits until the APIExport offers Certs in some versions that are served, and has others that are not.
func (s *shop) awaitVersions(t *testing.T, want map[string]bool, kept []string) {
	t.Helper()
	for _, v := range kept {
		want[v] = false
	}
	kube.Eventually(t, "versions", func() (bool, string) {
		o := &v1alpha1.PublishedResource{}
		if o.Status.ResourceSchemaName = schemaOf(s.export(t), "certs"); o.Status.ResourceSchemaName == "" {
			return false, "not offered"
		}
		got := map[string]bool{}
		for _, v := range s.schemaOffered(t, o).Spec.Versions {
			got[v.Name] = v.Served
		}
		diff := cmp.Diff(want, got)
		return diff == "", diff
	})
}

// TestLossesAreTold shows that the owner is told which fields of which version kcp loses, as it does not call the
// webhook that converts objects on the service cluster, and that a consumer who uses that version is warned.
func TestLossesAreTold(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	d := definition(s.group, "kilns", "glaze")
	former := definition(s.group, "kilns", "shelves").Spec.Versions[0]
	former.Name, former.Storage = "v1alpha1", false
	d.Spec.Versions = append(d.Spec.Versions, former)
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:9/convert")},
		},
	}
	kube.Create(t, s.c, d)
	o := s.offer(t, s.published("kilns", "Kiln"))
	awaitMessage(t, s.c, o, is(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonPublished),
		"v1alpha1: spec.glaze, spec.shelves")
	consumer, warnings := s.consumer(t, exportName), &strings.Builder{}
	consumer.cfg.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{})
	kcp.CreateServed(t, consumer.cfg, s.object("Kiln", "new"))
	if warnings.Len() > 0 {
		t.Errorf("want no warning about the version that is stored, got %q", warnings)
	}
	s.version = "v1alpha1"
	kcp.CreateServed(t, consumer.cfg, s.object("Kiln", "old"))
	if !strings.Contains(warnings.String(), "version v1alpha1 loses spec.glaze, spec.shelves") {
		t.Errorf("want a warning that names the fields, got %q", warnings)
	}
}
