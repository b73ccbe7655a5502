package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// TestAwait shows what an Object waits for before it has a resource.
func TestAwait(t *testing.T) {
	object := mobjectv1alpha1.ObjectGroupVersionKind
	application := workloadv1alpha1.GroupVersion.WithKind("KubernetesApplication")
	gadget := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Gadget"}
	const (
		healthy = "to be healthy: "
		ready   = "status: {conditions: [{type: Ready, status: 'True'}]}"
	)
	shown := func(kind, rest string) string {
		return "status: {atProvider: {manifest: {apiVersion: " + kind + "}" + rest + "}}"
	}
	for name, tc := range map[string]struct {
		reason  string
		of      schema.GroupVersionKind
		waitFor commonv1.WaitFor
		query   string
		content string // as YAML
		want    string // after the name, empty if nothing is waited for
	}{
		"Exists":   {"To exist is enough.", object, commonv1.WaitForExists, "", "{}", ""},
		"Ready":    {"A condition is.", object, commonv1.WaitForReady, "", ready, ""},
		"NotReady": {"It must be there.", object, commonv1.WaitForReady, "", "{}", "to be ready"},
		"NoResource": {
			"An Object without a resource is not healthy.", object, commonv1.WaitForHealthy, "", ready,
			healthy + "the Object has no resource yet",
		},
		"TooLarge": {
			"Nor is one that does not show it.", object, commonv1.WaitForHealthy, "",
			shown("v1, kind: ConfigMap", ", omittedBytes: 9"),
			healthy + "the status of the Object omits the resource, which is too large: use waitFor: Ready",
		},
		"Shown": {
			"A resource without a status is healthy.", object, commonv1.WaitForHealthy, "",
			shown("v1, kind: ConfigMap", ""), "",
		},
		"StatusToCome": {
			"Unless it may get one: who has looked at it?", object, commonv1.WaitForHealthy, "",
			shown("example.org/v1, kind: Gadget", ""), healthy + "In progress: the resource has no status yet",
		},
		"Progressing": {
			"The resource says why.", object, commonv1.WaitForHealthy, "",
			shown("example.org/v1, kind: Gadget, status: {conditions: [{type: Ready, status: 'False', message: 1 of 3}]}", ""),
			healthy + "In progress: 1 of 3",
		},
		"Works": {
			"A status tells.", object, commonv1.WaitForHealthy, "",
			shown("example.org/v1, kind: Gadget, status: {conditions: [{type: Ready, status: 'True'}]}", ""), "",
		},
		"Application": {
			"Ready of an application says less.", application, commonv1.WaitForHealthy, "",
			"status: {conditions: [{type: Ready, status: 'True'}, {type: Healthy, status: 'False'}]}",
			healthy + "Condition Healthy of the resource is False",
		},
		"ApplicationWorks": {
			"Its health is a condition.", application, commonv1.WaitForHealthy, "",
			"status: {conditions: [{type: Healthy, status: 'True'}]}", "",
		},
		"Served": {
			"The control plane says which kinds have a status.", gadget, commonv1.WaitForHealthy, "",
			"{}", healthy + "In progress: the resource has no status yet",
		},
		"True":  {"A query is about all of it.", gadget, "", "object.spec.size == 1", "spec: {size: 1}", ""},
		"False": {"It must be true.", gadget, "", "object.spec.size == 2", "spec: {size: 1}", "The CEL query is false"},
		"Fails": {
			"It must have an answer.", gadget, "", "object.spec.color == 'blue'", "spec: {size: 1}",
			"CEL query fails: at 1:12: no such key: color",
		},
		"Costly": {
			"It must not cost too much.", gadget, "",
			"lists.range(1000).all(a, lists.range(1000).all(b, a < b || a >= b))", "{}",
			"CEL query is too costly: the expression exceeds the cost limit of 100000",
		},
		"Both": {
			"Both count.", object, commonv1.WaitForReady, "object.metadata.name == 'a'",
			"{metadata: {name: b}, status: {conditions: [{type: Ready, status: 'True'}]}}", "The CEL query is false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			content := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.content), &content); err != nil {
				t.Fatal(err)
			}
			ref := &Reference{
				At: "x", GVK: tc.of, WaitFor: tc.waitFor, Query: tc.query, mapping: clusters.Mapping{Status: true},
			}
			x := &found{Object: &unstructured.Unstructured{Object: content}}
			if tc.of == object {
				x.Object = Referrer{Object: named("a")}
			}
			got := ""
			if err := ref.await(x, content); err != nil {
				got = strings.TrimPrefix(err.Error(), "waiting for "+ref.String()+" ")
				if !IsAwaited(err) || ReasonOf(err) != commonv1.ReasonWaitingForReference {
					t.Errorf("%s\nwant an error that is waited for, got reason %q", tc.reason, ReasonOf(err))
				}
			}
			if diff := cmp.Diff(tc.want, strings.TrimPrefix(got, "to satisfy x.celQuery: ")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
