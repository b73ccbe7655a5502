package olm

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	elasticsearches = schema.GroupVersionResource{
		Group: "elasticsearch.k8s.elastic.co", Version: "v1", Resource: "elasticsearches",
	}
	kibanas = schema.GroupVersionResource{Group: "kibana.k8s.elastic.co", Version: "v1", Resource: "kibanas"}
)

// workOnElastic does what the containers of Elastic's operator would, while its own Deployment is available: it runs
// each Elasticsearch and each Kibana, and says how they are. What it runs belongs to them, so that they need nobody
// when they go.
func (o operator) workOnElastic(ctx context.Context) {
	if runs, _ := o.available(ctx, operatorsNamespace, "elastic-operator"); !runs {
		return
	}
	o.elastic(ctx, elasticsearches, func(*unstructured.Unstructured) map[string]any {
		return map[string]any{"phase": "Ready", "health": "green"}
	})
	o.elastic(ctx, kibanas, func(k *unstructured.Unstructured) map[string]any {
		name, _, _ := unstructured.NestedString(k.Object, "spec", "elasticsearchRef", "name")
		if _, err := o.dyn.Resource(elasticsearches).Namespace(k.GetNamespace()).Get(ctx, name,
			metav1.GetOptions{}); err != nil {
			return map[string]any{"associationStatus": "Pending", "health": "red"}
		}
		return map[string]any{"associationStatus": "Established", "health": "green"}
	})
}

// elastic runs the resources of a kind, and sets their status once they run.
func (o operator) elastic(ctx context.Context, gvr schema.GroupVersionResource,
	status func(*unstructured.Unstructured) map[string]any,
) {
	list, err := o.dyn.Resource(gvr).Namespace(kongsNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		r := &list.Items[i]
		deployments := o.cs.AppsV1().Deployments(r.GetNamespace())
		name := gvr.Resource + "-" + r.GetName()
		runs, err := o.available(ctx, r.GetNamespace(), name)
		if apierrors.IsNotFound(err) && r.GetDeletionTimestamp() == nil {
			d := proxyOf(r)
			d.SetName(name)
			d.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(r, r.GroupVersionKind())})
			_, _ = deployments.Create(ctx, d, metav1.CreateOptions{})
			continue
		}
		if !runs || r.Object["status"] != nil {
			continue
		}
		r.Object["status"] = status(r)
		_, _ = o.dyn.Resource(gvr).Namespace(r.GetNamespace()).UpdateStatus(ctx, r, metav1.UpdateOptions{})
	}
}
