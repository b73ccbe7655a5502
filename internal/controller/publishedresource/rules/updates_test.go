package rules_test

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const offersGroup = "updates.example.org"

// TestSchemaUpdates follows an API whose incompatible changes are held back: compatible ones are published, others are
// told of once, and objects are synced as before, also by a provider that starts meanwhile. An APIExport that somebody
// has moved comes back. Objects wait for a version that the service cluster no longer serves. A change that is undone,
// or that All lets pass, is published at once.
func TestSchemaUpdates(t *testing.T) {
	const team = "updates"
	s := newWorld(t, &shared, "updates", "updates-billing")
	stop := s.serve(t, team)
	defer func() { stop() }()
	kube.Create(t, s.c, build.Definition(offersGroup, "offers", "note"))
	pr := s.describe(t, "offers", "providerConfigRef: {name: updates}\nschemaUpdates: Compatible\n"+
		"resource: {apiGroup: "+offersGroup+", kind: Offer}", team)
	s.awaitReady(t, pr)
	first := s.offered(t)
	s.awaitCopy(t, "one")

	s.redefine(t, func(v []apiextensionsv1.CustomResourceDefinitionVersion) { setLength(&v[0], "brim", nil) })
	second := s.awaitOther(t, first)
	s.awaitHeld(t, pr, "")
	s.redefine(t, func(v []apiextensionsv1.CustomResourceDefinitionVersion) { setLength(&v[0], "note", new(int64(5))) })
	s.awaitHeld(t, pr, "spec.note: narrower maxLength")
	s.awaitCopy(t, "two")
	stop()
	stop = s.serve(t, team)
	s.awaitCopy(t, "three")
	s.awaitHeld(t, pr, "spec.note: narrower maxLength")
	s.move(t, first)
	s.awaitOther(t, first)
	if got := s.offered(t); got != second {
		t.Errorf("schema in the APIExport: want %s, got %s", second, got)
	}
	if n := s.events(t, string(v1alpha1.ReasonIncompatibleChange)); n != 1 {
		t.Errorf("want one event about a held schema, got %d", n)
	}

	// Undone.
	s.redefine(t, func(v []apiextensionsv1.CustomResourceDefinitionVersion) { setLength(&v[0], "note", nil) })
	s.awaitHeld(t, pr, "")

	// Two versions, of which the one that kcp stores goes.
	d := s.redefine(t, nil)
	d.Spec.Versions = append(d.Spec.Versions, *d.Spec.Versions[0].DeepCopy())
	d.Spec.Versions[1].Name, d.Spec.Versions[1].Storage = "v2", false
	kube.Update(t, s.c, d)
	third := s.awaitOther(t, second)
	s.redefine(t, func(v []apiextensionsv1.CustomResourceDefinitionVersion) {
		v[0].Served, v[0].Storage, v[1].Storage = false, false, true
	})
	s.awaitHeld(t, pr, "version v1: no longer served")
	s.awaitHeld(t, pr, "Objects are not synced: the service cluster no longer serves version v1")
	kcp.CreateServed(t, s.consumer, offer("four"))
	s.redefine(t, func(v []apiextensionsv1.CustomResourceDefinitionVersion) {
		v[0].Served, v[0].Storage, v[1].Storage = true, true, false
	})
	s.awaitCopy(t, "four")
	if got := s.offered(t); got != third {
		t.Errorf("schema in the APIExport: want %s, got %s", third, got)
	}

	s.redefine(t, func(v []apiextensionsv1.CustomResourceDefinitionVersion) { setLength(&v[0], "note", new(int64(5))) })
	s.awaitHeld(t, pr, "spec.note: narrower maxLength")
	kube.Patch(t, s.c, pr, `{"spec":{"schemaUpdates":"All"}}`)
	s.awaitOther(t, third)
	s.awaitHeld(t, pr, "")
	s.awaitCopy(t, "five")
}

// offer returns an object of the API whose changes are followed.
func offer(name string) *unstructured.Unstructured {
	u := object(offersGroup+"/v1", "Offer", namespace, name)
	u.Object["spec"] = map[string]any{"size": "L"}
	return u
}

// setLength gives a field of the spec, which is added if it is missing, a limit, nil for none.
func setLength(v *apiextensionsv1.CustomResourceDefinitionVersion, field string, most *int64) {
	v.Schema.OpenAPIV3Schema.Properties["spec"].Properties[field] = apiextensionsv1.JSONSchemaProps{
		Type: "string", MaxLength: most,
	}
}

// redefine changes the versions of the API, if there is a change, and returns its definition.
func (s *world) redefine(
	t *testing.T, change func([]apiextensionsv1.CustomResourceDefinitionVersion),
) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "offers." + offersGroup}}
	kube.Await(t, s.c, d, "a change of the definition", func() (bool, string) {
		if change == nil {
			return true, ""
		}
		change(d.Spec.Versions)
		err := s.c.Update(t.Context(), d)
		return err == nil, fmt.Sprint(err)
	})
	return d
}

func (s *world) export(t *testing.T) *apisv1alpha2.APIExport {
	t.Helper()
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, s.services, types.NamespacedName{Name: exportName}, e)
	return e
}

// offered returns the schema by which the APIExport offers the API.
func (s *world) offered(t *testing.T) string {
	t.Helper()
	for _, r := range s.export(t).Spec.Resources {
		if r.Name == "offers" {
			return r.Schema
		}
	}
	return ""
}

// awaitOther waits until the APIExport offers the API by another schema.
func (s *world) awaitOther(t *testing.T, than string) (name string) {
	t.Helper()
	kube.Eventually(t, "another schema than "+than, func() (bool, string) {
		name = s.offered(t)
		return name != than, ""
	})
	return name
}

// move has the APIExport offer the API by some schema, as its owner may by hand.
func (s *world) move(t *testing.T, to string) {
	t.Helper()
	kube.Eventually(t, "the APIExport to be moved", func() (bool, string) {
		e := s.export(t)
		for i := range e.Spec.Resources {
			e.Spec.Resources[i].Schema = to
		}
		err := s.services.Update(t.Context(), e)
		return err == nil, fmt.Sprint(err)
	})
}

// awaitHeld waits until a change is held back, with a message that has a text, or none is if that is empty.
func (s *world) awaitHeld(t *testing.T, pr *unstructured.Unstructured, text string) {
	t.Helper()
	want := corev1.ConditionTrue
	if text != "" {
		want = corev1.ConditionFalse
	}
	o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: pr.GetName()}}
	kube.Await(t, s.c, o, fmt.Sprintf("what is held back: %q", text), func() (bool, string) {
		for _, about := range []xpv2.ConditionType{v1alpha1.TypeSchemaPublished, xpv2.TypeSynced} {
			c := o.GetCondition(about)
			held := c.Reason == v1alpha1.ReasonIncompatibleChange
			if c.Status != want || held != (text != "") || !strings.Contains(c.Message, text) {
				return false, fmt.Sprintf("%+v", o.Status.Conditions)
			}
		}
		return o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue, fmt.Sprintf("%+v", o.Status.Conditions)
	})
}

// awaitCopy makes an object of the consumer, unless it is there, and waits for its copy.
func (s *world) awaitCopy(t *testing.T, name string) {
	t.Helper()
	if err := s.in.Get(t.Context(), client.ObjectKeyFromObject(offer(name)), offer(name)); err != nil {
		kcp.CreateServed(t, s.consumer, offer(name))
	}
	kube.Eventually(t, "a copy of "+name, func() (bool, string) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(offersGroup + "/v1")
		list.SetKind("OfferList")
		err := s.c.List(t.Context(), list)
		for _, u := range list.Items {
			if u.GetAnnotations()[objectsync.AnnotationName] == name {
				return true, ""
			}
		}
		return false, fmt.Sprint(err, len(list.Items))
	})
}

// events returns how many events of a reason there are.
func (s *world) events(t *testing.T, reason string) (n int) {
	t.Helper()
	list := &corev1.EventList{}
	kube.List(t, s.c, list)
	for _, e := range list.Items {
		if e.Reason == reason {
			n += max(int(e.Count), 1)
		}
	}
	return n
}
