package olm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
	soon   = 2 * time.Minute
	admins = "system:masters"
)

// Objects live on one cluster, and OLM works on another. Both collect garbage: the uses of ProviderConfigs, and what
// belongs to operators.
var (
	control = kube.Server{ControllerManager: true}
	target  = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &control, local.StartFunc(startTarget))) }

// startTarget starts the target with what makes an OLM work: nodes, its CustomResourceDefinitions, and a catalog of one
// operator.
func startTarget(ctx context.Context) (stop func() error, err error) {
	stopServer, err := target.WithNodes()(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "olm-")
	if err != nil {
		_ = stopServer()
		return nil, errors.Wrap(err, "cannot make folder of OLM")
	}
	olm, err := startOLM(ctx, dir, target.Config())
	if err != nil {
		_ = stopServer() // Why it did not start matters more than what else goes wrong.
		return nil, err
	}
	return func() error {
		return kerrors.NewAggregate([]error{olm.Stop(), stopServer(), os.RemoveAll(dir)})
	}, nil
}

// serve installs our kinds on a server and returns a client of it.
func serve(t *testing.T, s *kube.Server) client.Client {
	t.Helper()
	s.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	return s.Client(t, apis.AddToScheme)
}

// start starts the provider as an administrator of a server.
func start(t *testing.T, s *kube.Server) {
	t.Helper()
	program.Start(t, asUser(t, s), provider.Options{Args: []string{"--debug"}})
}

// asUser returns the configuration of the provider's user, who may do anything.
func asUser(t *testing.T, s *kube.Server) *rest.Config {
	t.Helper()
	return s.User(t, "provider", admins)
}

// startOLM starts OLM on a cluster, and returns when its catalog is connected and the node is ready.
func startOLM(ctx context.Context, dir string, cfg *rest.Config) (*local.OLM, error) {
	crds, err := local.OLMDefinitions()
	if err != nil {
		return nil, err
	}
	if _, err := envtest.InstallCRDs(cfg,
		envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true}); err != nil {
		return nil, errors.Wrap(err, "cannot install OLM's CustomResourceDefinitions")
	}
	catalog, err := writeCatalog(dir)
	if err != nil {
		return nil, err
	}
	olm, err := local.StartOLM(ctx, local.OLMOptions{Dir: filepath.Join(dir, "olm"), Config: cfg, Catalog: catalog})
	if err != nil {
		return nil, err
	}
	if err := prepareCluster(ctx, cfg, olm.CatalogAddress()); err != nil {
		_ = olm.Stop() // Why it did not start matters more than what else goes wrong.
		return nil, err
	}
	return olm, nil
}

// writeCatalog makes a file-based catalog of the bundles, one package for each, and returns its folder.
func writeCatalog(dir string) (string, error) {
	bundles, err := os.ReadDir(filepath.Join("testdata", "bundles"))
	if err != nil {
		return "", errors.Wrap(err, "cannot read bundles")
	}
	var b bytes.Buffer
	for _, d := range bundles {
		files, err := filepath.Glob(filepath.Join("testdata", "bundles", d.Name(), "*.yaml"))
		if err != nil {
			return "", errors.Wrap(err, "cannot find files of bundle")
		}
		blobs, err := packageOf(d.Name(), files)
		if err != nil {
			return "", err
		}
		for _, blob := range blobs {
			if err := json.NewEncoder(&b).Encode(blob); err != nil {
				return "", errors.Wrap(err, "cannot encode catalog")
			}
		}
	}
	catalog := filepath.Join(dir, "catalog")
	if err := os.Mkdir(catalog, 0o700); err != nil {
		return "", errors.Wrap(err, "cannot make folder of catalog")
	}
	return catalog, errors.Wrap(os.WriteFile(filepath.Join(catalog, "catalog.json"), b.Bytes(), 0o600),
		"cannot write catalog")
}

// packageOf returns what a catalog says of a package with one channel and one bundle, which is in files. The channel is
// alpha unless the ClusterServiceVersion names another one.
func packageOf(name string, files []string) ([]any, error) {
	var csv, version string
	channel := "alpha"
	var properties []any
	for _, f := range files {
		objects, err := read(f)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			switch o.GetKind() {
			case "ClusterServiceVersion":
				csv = o.GetName()
				channel = cmp.Or(o.GetAnnotations()["operators.operatorframework.io.bundle.channel.default.v1"],
					channel)
				version, _, _ = unstructured.NestedString(o.Object, "spec", "version")
			case "CustomResourceDefinition":
				properties = append(properties, property("olm.gvk", kindOf(o)))
			}
			b, err := o.MarshalJSON()
			if err != nil {
				return nil, errors.Wrapf(err, "cannot encode %s", f)
			}
			properties = append(properties,
				property("olm.bundle.object", map[string]any{"data": base64.StdEncoding.EncodeToString(b)}))
		}
	}
	properties = append(properties, property("olm.package", map[string]any{"packageName": name, "version": version}))
	return []any{
		map[string]any{"schema": "olm.package", "name": name, "defaultChannel": channel},
		map[string]any{
			"schema": "olm.channel", "name": channel, "package": name, "entries": []any{map[string]any{"name": csv}},
		},
		map[string]any{"schema": "olm.bundle", "name": csv, "package": name, "properties": properties},
	}, nil
}

func property(of string, value any) map[string]any { return map[string]any{"type": of, "value": value} }

// kindOf returns the kind that a CustomResourceDefinition with one version defines.
func kindOf(crd *unstructured.Unstructured) map[string]any {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	return map[string]any{"group": group, "kind": kind, "version": versions[0].(map[string]any)["name"]}
}

// prepareCluster makes what is on a cluster with OLM from its beginning.
func prepareCluster(ctx context.Context, cfg *rest.Config, catalog string) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return errors.Wrap(err, "cannot make client")
	}
	objects, err := read(filepath.Join("testdata", "cluster.yaml"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "CatalogSource" {
			if err := unstructured.SetNestedField(o.Object, catalog, "spec", "address"); err != nil {
				return errors.Wrap(err, "cannot set address of catalog")
			}
		}
		if err := c.Create(ctx, o); err != nil {
			return errors.Wrapf(err, "cannot create %s %q", o.GetKind(), o.GetName())
		}
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, soon, true,
		func(ctx context.Context) (bool, error) { return prepared(ctx, c) })
	return errors.Wrap(err, "OLM does not prepare the cluster")
}

// prepared reports whether OLM is connected to its catalog, and has made the rights of who may use operators: admin,
// edit and view.
func prepared(ctx context.Context, c client.Client) (bool, error) {
	source := &unstructured.Unstructured{}
	source.SetGroupVersionKind(olmVersion.WithKind("CatalogSource"))
	if err := c.Get(ctx, client.ObjectKey{Namespace: local.OLMNamespace, Name: "operatorhubio-catalog"},
		source); err != nil {
		return false, errors.Wrap(err, "cannot get CatalogSource")
	}
	state, _, _ := unstructured.NestedString(source.Object, "status", "connectionState", "lastObservedState")
	roles := &rbacv1.ClusterRoleList{}
	if err := c.List(ctx, roles); err != nil {
		return false, errors.Wrap(err, "cannot list rights")
	}
	made := 0
	for _, r := range roles.Items {
		if strings.HasPrefix(r.GetName(), "olm.og.global-operators.") {
			made++
		}
	}
	return state == "READY" && made == 3, nil
}

// read returns the resources of a YAML file.
func read(path string) ([]*unstructured.Unstructured, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read resources")
	}
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), len(b)+1); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, errors.Wrapf(err, "cannot parse %s", path)
		}
		all = append(all, u)
	}
}

// ignoreGone returns nil for a resource or a kind that does not exist.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
