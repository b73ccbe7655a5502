package examples

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
)

// providerConfigAnnotation has the Compositions of capabilities choose the target.
const providerConfigAnnotation = "capabilities.morningspace.io/provider-config"

// capabilityNetworking publishes a capability whose Compositions give all workspaces one namespace on the target.
const capabilityNetworking = "publish/networking.yaml"

// TestPublishedCapabilities shows that a consumer of a published capability cannot choose the target, and that orders
// of one name in two workspaces do not meet on it.
func TestPublishedCapabilities(t *testing.T) {
	for _, f := range []string{capabilityNetworking, "platform/networking.yaml"} {
		for _, u := range resourcesIn(t, []byte(read(t, f))) {
			copies := map[string]bool{}
			for _, in := range []gotemplate.Workspace{
				{Cluster: "1a2b3c", Path: "root:eu:a"},
				{Cluster: "4d5e6f", Path: "root:us:b"},
			} {
				c := copyOf(t, publishedResource(t, u), in)
				if got, want := c.GetAnnotations()[providerConfigAnnotation], strings.Split(in.Path, ":")[1]; got != want {
					t.Errorf("%s: target of an order in %s: want %q, got %q", f, in.Path, want, got)
				}
				copies[c.GetName()] = true
			}
			if f == capabilityNetworking && len(copies) != 2 {
				t.Errorf("%s: want names of copies that differ between workspaces, got %v", f, copies)
			}
		}
	}
}

// copyOf returns the name and the content of the copy of a consumer's order that names the target of another consumer.
func copyOf(t *testing.T, o *v1alpha1.PublishedResource, in gotemplate.Workspace) *unstructured.Unstructured {
	t.Helper()
	order := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	order.SetNamespace("default")
	order.SetName("web")
	order.SetAnnotations(map[string]string{providerConfigAnnotation: "forged"})
	namer, err := naming.New(o.Spec.Naming, v1alpha1.ScopeNamespaced)
	if err != nil {
		t.Fatal(err)
	}
	name, err := namer.Name(in, order)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := mutation.New(o.Spec.Mutation, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Spec(in, order, order)
	if err != nil {
		t.Fatal(err)
	}
	c.SetName(name.Name) // Steps do not change the name.
	return c
}

// publishedResource returns a PublishedResource with its type.
func publishedResource(t *testing.T, u *unstructured.Unstructured) *v1alpha1.PublishedResource {
	t.Helper()
	o := &v1alpha1.PublishedResource{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// acceptRules compiles the rules of a PublishedResource, as is done before it is served: the server does not know
// whether a template or an expression is one.
func acceptRules(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if u.GetKind() != v1alpha1.PublishedResourceGroupVersionKind.Kind {
		return
	}
	o := publishedResource(t, u)
	c := objectsync.Config{Spec: &o.Spec, Agent: "agent", Related: map[string]objectsync.Pair{}}
	for i := range o.Spec.Related {
		c.Related[o.Spec.Related[i].Name()] = objectsync.Pair{}
	}
	if _, err := objectsync.New(c); err != nil {
		t.Errorf("PublishedResource %q cannot be served: %v", u.GetName(), err)
	}
}

// TestEarlierGuides shows that what guides of api-syncagent have shown through the years can be served. That it is
// accepted is shown beside the files.
func TestEarlierGuides(t *testing.T) {
	files := find(t, "../apis/cluster/publishedresource/v1alpha1/testdata/guide", ".yaml")
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	for _, f := range files {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(read(t, f)), &u.Object); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		acceptRules(t, u)
	}
}

var (
	separator = regexp.MustCompile(`(?m)^---$`)
	// templated is a query in the template of a Composition.
	templated = regexp.MustCompile(`(?m)^ +celQuery: (.+)$`)
)

// TestQueriesAreCEL shows that each CEL query of the examples and guides can be asked.
func TestQueriesAreCEL(t *testing.T) {
	queries := 0
	for _, f := range append(find(t, ".", ".yaml"), find(t, "../docs", ".md")...) {
		content := read(t, f)
		docs := separator.Split(content, -1)
		if strings.HasSuffix(f, ".md") {
			docs = nil
			for _, block := range fence.FindAllStringSubmatch(content, -1) {
				docs = append(docs, separator.Split(block[2], -1)...)
			}
		}
		for _, doc := range docs {
			var parsed any
			if !strings.Contains(doc, "celQuery:") {
				continue
			}
			if err := yaml.Unmarshal([]byte(doc), &parsed); err != nil {
				t.Errorf("%s: %v", f, err)
			}
			found := queriesIn(parsed)
			if len(found) == 0 {
				t.Errorf("%s: no query where there should be one", f)
			}
			queries += len(found)
			for _, q := range found {
				if err := readiness.CheckQuery(q); err != nil {
					t.Errorf("%s: %v: %s", f, err, q)
				}
			}
		}
	}
	if queries == 0 {
		t.Error("there are no queries")
	}
}

// queriesIn returns the CEL queries of an Object, or of the Objects that a Composition makes.
func queriesIn(content any) []string {
	var found []string
	switch c := content.(type) {
	case string:
		for _, m := range templated.FindAllStringSubmatch(c, -1) {
			found = append(found, m[1])
		}
	case []any:
		for _, v := range c {
			found = append(found, queriesIn(v)...)
		}
	case map[string]any:
		for k, v := range c {
			if q, ok := v.(string); ok && k == "celQuery" {
				found = append(found, q)
				continue
			}
			found = append(found, queriesIn(v)...)
		}
	}
	return found
}
