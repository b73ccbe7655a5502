package publishedresource_test

import (
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
			o := s.publishedCerts(local.Namespace(t))
			o.Spec.Resource.Versions = nil
			if name == "Spec" {
				o.Spec.Resource.Versions = all[:1]
			}
			kube.Create(t, s.c, o)
			awaitPublished(t, s.c, o)
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
			awaitMessage(t, s.c, o, is(v1alpha1.TypeSchemaPublished, ""), "version "+all[0]+", which stays for objects")
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
	kube.Eventually(t, "the change below", func() (bool, string) {
		note, _, _ := unstructured.NestedString(s.copyNamed(t, in, name).Object, "spec", "note")
		return note == s.version, note
	})
	patchStatus(t, s.c, s.copyNamed(t, in, name), s.version)
	kube.Eventually(t, "the status above", func() (bool, string) {
		err := in.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, u)
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return err == nil && phase == s.version, fmt.Sprint(err, phase)
	})
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
