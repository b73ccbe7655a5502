package kcp

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The resources of kcp that this package reads and writes.
var (
	Exports        = apisv1alpha2.SchemeGroupVersion.WithResource("apiexports")
	Bindings       = apisv1alpha2.SchemeGroupVersion.WithResource("apibindings")
	Schemas        = apisv1alpha1.SchemeGroupVersion.WithResource("apiresourceschemas")
	EndpointSlices = apisv1alpha1.SchemeGroupVersion.WithResource("apiexportendpointslices")

	LogicalClusters = schema.GroupVersionResource{
		Group: "core.kcp.io", Version: "v1alpha1", Resource: "logicalclusters",
	}
)

// LogicalCluster is the name of the LogicalCluster in each workspace. There is one.
const LogicalCluster = "cluster"

// AnnotationCluster is the annotation by which kcp tells the logical cluster of each resource.
const AnnotationCluster = "kcp.io/cluster"

// AnnotationPath is the annotation of some resources, such as bindings, by which kcp tells the path of their workspace.
const AnnotationPath = "kcp.io/path"

// groupCore is how the names of schemas write the core group.
const groupCore = "core"

// ResourceOf returns the resource that a schema of a name describes, and whether it is such a name:
// <prefix>.<resource>.<group>.
func ResourceOf(schemaName string) (schema.GroupResource, bool) {
	parts := strings.SplitN(schemaName, ".", 3)
	if len(parts) < 3 {
		return schema.GroupResource{}, false
	}
	group := parts[2]
	if group == groupCore {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: parts[1]}, true
}

// A Consumer is a workspace that binds an APIExport.
type Consumer struct {
	// Cluster is the name of the logical cluster, and Path the path of the workspace as it was when it bound.
	Cluster, Path string
	// Unbinds reports whether kcp is deleting all of its bindings.
	Unbinds bool
	// Bound reports whether the resource in question can be used in the workspace.
	Bound bool
	// Problem says why not, as kcp does. It may be empty.
	Problem string
	// Accepted and Open are the claims that the consumer has accepted with all their verbs, and those that it has not.
	Accepted, Open []Claim
	// Whole are the resources of which the consumer shows all objects: it has accepted the claim for all, and kcp has
	// applied that to each.
	Whole []schema.GroupResource
}

// Name returns the path of the workspace or, if that is not known, the name of the logical cluster.
func (c Consumer) Name() string { return cmp.Or(c.Path, c.Cluster) }

// ConsumersOf returns who binds an APIExport for a resource and what they have accepted of claims, sorted by name. The
// bindings are of v1alpha2. A workspace that binds several times is one consumer, of whom the binding counts that is
// not being deleted and has the resource.
func ConsumersOf(bindings []*unstructured.Unstructured, r schema.GroupResource, claims []Claim) ([]Consumer, error) {
	of := map[string]Consumer{}
	for _, u := range bindings {
		b := &apisv1alpha2.APIBinding{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b); err != nil {
			return nil, errors.Wrapf(err, "cannot read APIBinding %q", u.GetName())
		}
		c := consumerOf(b, r, claims)
		was, ok := of[c.Cluster]
		if !ok || was.Unbinds && !c.Unbinds || was.Unbinds == c.Unbinds && !was.Bound {
			of[c.Cluster] = c
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b Consumer) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Cluster, b.Cluster))
	}), nil
}

func consumerOf(b *apisv1alpha2.APIBinding, r schema.GroupResource, claims []Claim) Consumer {
	c := Consumer{
		Cluster: b.Annotations[AnnotationCluster], Path: b.Annotations[AnnotationPath],
		Unbinds: b.DeletionTimestamp != nil,
	}
	c.Bound = slices.ContainsFunc(b.Status.BoundResources, func(x apisv1alpha2.BoundAPIResource) bool {
		return x.Group == r.Group && x.Resource == r.Resource
	})
	if !c.Bound {
		c.Problem = problemOf(b)
	}
	for _, claim := range claims {
		if accepts(b, claim) {
			c.Accepted = append(c.Accepted, claim)
			continue
		}
		c.Open = append(c.Open, claim)
	}
	for _, a := range b.Spec.PermissionClaims {
		applied := func(x apisv1alpha2.ScopedPermissionClaim) bool {
			return x.Selector.MatchAll && x.EqualGRI(a.PermissionClaim)
		}
		if a.State == apisv1alpha2.ClaimAccepted && a.Selector.MatchAll &&
			slices.ContainsFunc(b.Status.AppliedPermissionClaims, applied) {
			c.Whole = append(c.Whole, schema.GroupResource(a.GroupResource))
		}
	}
	return c
}

// problemOf returns what kcp says of a binding that is not up to date, empty if it says nothing.
func problemOf(b *apisv1alpha2.APIBinding) string {
	for _, t := range []string{
		string(apisv1alpha2.APIExportValid), string(apisv1alpha2.InitialBindingCompleted),
		string(apisv1alpha2.BindingUpToDate),
	} {
		for _, c := range b.Status.Conditions {
			if string(c.Type) == t && c.Status == corev1.ConditionFalse {
				return c.Message
			}
		}
	}
	return ""
}

// accepts reports whether a binding has accepted a claim with all its verbs.
func accepts(b *apisv1alpha2.APIBinding, c Claim) bool {
	return slices.ContainsFunc(b.Spec.PermissionClaims, func(a apisv1alpha2.AcceptablePermissionClaim) bool {
		return a.State == apisv1alpha2.ClaimAccepted && schema.GroupResource(a.GroupResource) == c.GroupResource &&
			a.IdentityHash == c.IdentityHash && len(Widened(a.Verbs, c.Verbs)) == len(a.Verbs)
	})
}

// Binds reports whether a binding of v1alpha2 is to an APIExport of a logical cluster. If that claims bindings, its
// endpoints show others.
func Binds(binding *unstructured.Unstructured, export, cluster string) bool {
	name, _, _ := unstructured.NestedString(binding.Object, "spec", "reference", "export", "name")
	at, _, _ := unstructured.NestedString(binding.Object, "status", "apiExportClusterName")
	return name == export && (at == cluster || at == "")
}

// SchemasBound returns the names of the schemas by which bindings of v1alpha2 know resources, sorted.
func SchemasBound(bindings []*unstructured.Unstructured, of sets.Set[schema.GroupResource]) []string {
	names := sets.New[string]()
	for _, r := range boundResources(bindings) {
		if of.Has(schema.GroupResource{Group: textOf(r, "group"), Resource: textOf(r, "resource")}) {
			names.Insert(textOf(r, "schema", "name"))
		}
	}
	return sets.List(names)
}

// StorageVersions returns the versions in which the workspaces of bindings of v1alpha2 store a resource, sorted, and
// whether all that have bound it say so.
func StorageVersions(bindings []*unstructured.Unstructured, r schema.GroupResource) (versions []string, known bool) {
	known = true
	for _, bound := range boundResources(bindings) {
		if textOf(bound, "group") == r.Group && textOf(bound, "resource") == r.Resource {
			in, _, _ := unstructured.NestedStringSlice(bound, "storageVersions")
			versions, known = append(versions, in...), known && len(in) > 0
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions), known
}

// boundResources returns the resources that bindings of v1alpha2 have bound.
func boundResources(bindings []*unstructured.Unstructured) (all []map[string]any) {
	for _, u := range bindings {
		resources, _, _ := unstructured.NestedSlice(u.Object, "status", "boundResources")
		for _, r := range resources {
			if m, ok := r.(map[string]any); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

// Endpoints returns the URLs of an APIExportEndpointSlice, sorted: one for each shard with a consumer.
func Endpoints(slice *unstructured.Unstructured) []string {
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "status", "endpoints")
	var urls []string
	for _, e := range endpoints {
		if m, ok := e.(map[string]any); ok {
			url, _, _ := unstructured.NestedString(m, "url")
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	return urls
}

// IdentityHash returns that of an APIExport, empty as long as kcp has given it none: nobody can bind it until then.
func IdentityHash(export *unstructured.Unstructured) string {
	hash, _, _ := unstructured.NestedString(export.Object, "status", "identityHash")
	return hash
}
