package kube

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RunScheduler puts pods that name no node on one node, until the test ends.
func RunScheduler(tb testing.TB, cfg *rest.Config, node string) {
	tb.Helper()
	cs := kubernetes.NewForConfigOrDie(cfg)
	// What could not be bound is tried again.
	without := cache.ByObject{Field: fields.OneTermEqualSelector("spec.nodeName", ""), SyncPeriod: new(time.Second)}
	known := Follow(tb, cfg, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: without}})
	pods, err := known.GetInformer(tb.Context(), &corev1.Pod{})
	if err != nil {
		tb.Fatal(err)
	}
	bind := func(o any) {
		p, ok := o.(*corev1.Pod)
		if !ok {
			return
		}
		b := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
		}
		// One that has gone needs no node.
		_ = cs.CoreV1().Pods(p.Namespace).Bind(context.Background(), b, metav1.CreateOptions{})
	}
	again := func(_, o any) { bind(o) }
	if _, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: bind, UpdateFunc: again,
	}); err != nil {
		tb.Fatal(err)
	}
}

// Follow returns a cache of what there is on a server, until the test ends.
func Follow(tb testing.TB, cfg *rest.Config, opts cache.Options) cache.Cache {
	tb.Helper()
	known, err := cache.New(cfg, opts)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- known.Start(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return known
}
