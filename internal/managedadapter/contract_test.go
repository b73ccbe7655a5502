package managedadapter_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var local kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local)) }

// A system is an external system with one resource.
type system struct {
	exists, current, published bool
	err                        error // of each call
}

func (s *system) client() managed.ExternalClient {
	return managed.ExternalClientFns{
		ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
			return managed.ExternalObservation{ResourceExists: s.exists, ResourceUpToDate: s.current}, s.err
		},
		CreateFn: func(context.Context, resource.Managed) (managed.ExternalCreation, error) {
			s.exists, s.current = s.err == nil, s.err == nil
			return managed.ExternalCreation{}, s.err
		},
		UpdateFn: func(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
			s.current = s.err == nil
			return managed.ExternalUpdate{}, s.err
		},
		DeleteFn: func(context.Context, resource.Managed) (managed.ExternalDelete, error) {
			s.exists = s.err != nil
			return managed.ExternalDelete{}, s.err
		},
		DisconnectFn: func(context.Context) error { return nil },
	}
}

// TestContract states which writes crossplane-runtime's reconciler makes through the adapter.
func TestContract(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "package", "crds"))
	c := local.Client(t, apis.AddToScheme)
	s, writes := &system{}, []string(nil)
	m := managedadapter.NewManager(managerOf(t, &writes))
	r := managedadapter.NewReconciler(m, controller.DefaultOptions(), objectv1alpha2.ObjectGroupVersionKind,
		managed.WithExternalConnector(managed.ExternalConnectorFn(
			func(context.Context, resource.Managed) (managed.ExternalClient, error) { return s.client(), nil })),
		managed.WithInitializers(),
		managed.WithFinalizer(managedadapter.Finalizer{Client: m.GetClient()}))

	o := &objectv1alpha2.Object{}
	o.SetName("contract")
	o.Spec.ForProvider.Manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)
	o.Spec.ProviderConfigReference = &xpv2.Reference{Name: "default"}
	o.Spec.WriteConnectionSecretToReference = &xpv2.SecretReference{Namespace: "default", Name: "contract"}
	kube.Create(t, c, o)
	for _, step := range []struct {
		reason string
		do     func()
		want   []string
	}{
		{
			reason: "A creation patches finalizer and external name together, and writes one status that says Ready.",
			do:     func() {},
			want:   []string{"patch", "update status"},
		},
		{reason: "The reconcile that follows a creation writes nothing.", do: func() {}, want: nil},
		{reason: "An update writes nothing if no condition changes.", do: func() { s.current = false }, want: nil},
		{
			reason: "A failure is written once.",
			do:     func() { s.err = errors.New("boom at 2026-01-02T03:04:05Z") },
			want:   []string{"update status"},
		},
		{
			reason: "It is not written again for a text that differs in each attempt.",
			do:     func() { s.err = errors.New("boom at 2026-01-02T03:04:06Z") }, want: nil,
		},
		{reason: "Its end is written.", do: func() { s.err = nil }, want: []string{"update status"}},
		{
			reason: "The request to delete the resource is written.",
			do: func() {
				kube.Delete(t, c, o)
			},
			want: []string{"update status"},
		},
		{reason: "Once the resource is gone the finalizer is removed.", do: func() {}, want: []string{"patch"}},
		{reason: "Of what is gone nothing is written.", do: func() {}, want: nil},
	} {
		step.do()
		writes = nil
		rec := &managedadapter.Reconciliation{
			Amend: func(obj client.Object) {
				if mg, ok := obj.(*objectv1alpha2.Object); ok && s.exists {
					mg.SetConditions(xpv2.Available())
				}
			},
			Publish: func(context.Context, *corev1.Secret) error {
				s.published = true
				return nil
			},
		}
		if _, err := rec.Run(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}, r); err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if diff := cmp.Diff(step.want, writes); diff != "" {
			t.Errorf("%s\nwrites: -want, +got:\n%s", step.reason, diff)
		}
	}
	if !s.published {
		t.Error("want the connection secret published")
	}
}

// managerOf returns a manager whose client has no cache, and notes what it writes.
func managerOf(t *testing.T, writes *[]string) manager.Manager {
	t.Helper()
	note := func(what string, err error) error {
		*writes = append(*writes, what)
		return err
	}
	known := local.Client(t, apis.AddToScheme).Scheme()
	direct, err := client.NewWithWatch(local.Config(), client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	c := interceptor.NewClient(direct, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return note("create", c.Create(ctx, o, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return note("update", c.Update(ctx, o, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption,
		) error {
			return note("patch", c.Patch(ctx, o, p, opts...))
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption,
		) error {
			return note("update "+sub, c.SubResource(sub).Update(ctx, o, opts...))
		},
	})
	mgr, err := ctrl.NewManager(local.Config(), ctrl.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	return clientManager{Manager: mgr, client: c}
}

type clientManager struct {
	manager.Manager

	client client.Client
}

func (m clientManager) GetClient() client.Client { return m.client }
