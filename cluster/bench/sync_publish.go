package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"time"

	"github.com/pkg/errors"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

var (
	//go:embed sync/service.yaml
	serviceSide []byte
	//go:embed sync/agent.yaml
	agentSide []byte
	//go:embed sync/consumer.yaml
	consumerSide []byte
)

// Names in those files.
const (
	provided   = "services" // the workspace of the APIExport, and what belongs to it
	published  = "hats"     // the PublishedResource
	agentName  = "agent"
	setupTime  = 2 * time.Minute
	setupPause = 50 * time.Millisecond
)

var (
	workspacesOf = schema.GroupVersionResource{
		Group: "tenancy.kcp.io", Version: "v1alpha1", Resource: "workspaces",
	}
	publishedResources = v1alpha1.GroupVersion.WithResource("publishedresources")
)

// publish publishes the API, and binds it in all workspaces. No provider runs afterwards.
func (b *syncBench) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setupTime, errors.Errorf("not done after %s", setupTime))
	defer cancel()
	kubeconfig, err := b.provide(ctx)
	if err != nil {
		return err
	}
	if err := b.service.apply(ctx, serviceSide); err != nil {
		return err
	}
	if err := b.service.create(ctx, secrets, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kcp"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}); err != nil {
		return err
	}
	if err := b.startProvider(); err != nil {
		return err
	}
	if err := b.service.awaitStatus(ctx, publishedResources, published, has("resourceSchemaName")); err != nil {
		return err
	}
	if err := each(ctx, workspaces, b.bind); err != nil {
		return err
	}
	if err := b.reach(ctx); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	b.provider.Kill()
	return nil
}

// provide makes the workspace of the APIExport, and returns how the provider reaches it.
func (b *syncBench) provide(ctx context.Context) ([]byte, error) {
	if err := b.newWorkspace(ctx, provided); err != nil {
		return nil, err
	}
	s, err := at(b.root.config, b.kcp.Config("root:"+provided).Host)
	if err != nil {
		return nil, err
	}
	if err := s.apply(ctx, agentSide); err != nil {
		return nil, err
	}
	c, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make client")
	}
	token, err := c.CoreV1().ServiceAccounts(corev1.NamespaceDefault).CreateToken(ctx, agentName,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, errors.Wrap(err, "cannot create token")
	}
	b.root.user = "system:serviceaccount:" + corev1.NamespaceDefault + ":" + agentName
	cfg := rest.AnonymousClientConfig(s.config)
	cfg.BearerToken = token.Status.Token
	return local.Kubeconfig(cfg)
}

// newWorkspace makes a workspace below root.
func (b *syncBench) newWorkspace(ctx context.Context, name string) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": workspacesOf.GroupVersion().String(), "kind": "Workspace",
		"spec": map[string]any{"type": map[string]any{"name": "universal", "path": "root"}},
	}}
	u.SetName(name)
	if err := b.root.create(ctx, workspacesOf, u); err != nil {
		return err
	}
	return b.root.awaitStatus(ctx, workspacesOf, name, phase("Ready"))
}

// bind makes the i-th consumer.
func (b *syncBench) bind(ctx context.Context, i int) error {
	name := fmt.Sprintf("consumer-%d", i)
	if err := b.newWorkspace(ctx, name); err != nil {
		return err
	}
	s, err := at(b.root.config, b.kcp.Config("root:"+name).Host)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, consumerSide); err != nil {
		return err
	}
	if err := s.awaitStatus(ctx, kcp.Bindings, provided, phase("Bound")); err != nil {
		return err
	}
	ns, err := s.resource(namespaces, "").Get(ctx, corev1.NamespaceDefault, metav1.GetOptions{})
	if err != nil {
		return errors.Wrap(err, "cannot get namespace")
	}
	s.name = ns.GetAnnotations()[kcp.AnnotationCluster]
	b.consumers[i] = s
	return nil
}

// reach finds the endpoint of the APIExport.
func (b *syncBench) reach(ctx context.Context) error {
	if err := b.service.awaitStatus(ctx, publishedResources, published, has("endpoints")); err != nil {
		return err
	}
	o, err := b.service.resource(publishedResources, "").Get(ctx, published, metav1.GetOptions{})
	if err != nil {
		return errors.Wrap(err, "cannot get PublishedResource")
	}
	endpoints, _, _ := unstructured.NestedSlice(o.Object, "status", "endpoints")
	first, ok := endpoints[0].(map[string]any)
	if !ok {
		return errors.New("the status of the PublishedResource has no list of endpoints")
	}
	url, _, _ := unstructured.NestedString(first, "url")
	if b.all, err = at(b.root.config, url+clusters.AllClusters); err != nil {
		return err
	}
	for i, c := range b.consumers {
		if b.agents[i], err = at(b.root.config, url+"/clusters/"+c.name); err != nil {
			return err
		}
	}
	return nil
}

// apply creates what a YAML file has.
func (s *server) apply(ctx context.Context, file []byte) error {
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(file), len(file)); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errors.Wrap(err, "cannot decode YAML")
		}
		r, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
		if err := retried(ctx, func() error { return s.create(ctx, r, u) }); err != nil {
			return err
		}
	}
}

// awaitStatus waits until the status of a resource is as wanted.
func (s *server) awaitStatus(ctx context.Context, r schema.GroupVersionResource, name string,
	wanted func(status map[string]any) bool,
) error {
	return errors.Wrapf(retried(ctx, func() error {
		u, err := s.resource(r, "").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, _ := unstructured.NestedMap(u.Object, "status")
		if !wanted(status) {
			return errors.Errorf("its status is %v", status)
		}
		return nil
	}), "cannot wait for %s %q", r.Resource, name)
}

// phase reports whether a status has a phase.
func phase(name string) func(map[string]any) bool {
	return func(status map[string]any) bool { return status["phase"] == name }
}

// has reports whether a status has a field.
func has(field string) func(map[string]any) bool {
	return func(status map[string]any) bool { return status[field] != nil }
}

// retried calls f until it succeeds: what has just been made is served a moment later.
func retried(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if pause(ctx, setupPause) != nil {
			return errors.Wrap(err, context.Cause(ctx).Error())
		}
	}
}
