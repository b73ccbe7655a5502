package commandline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/yaml"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// ImportOptions say which resources get Objects.
type ImportOptions struct {
	// Target is how the cluster of the resources is reached.
	Target *rest.Config
	// Kinds are resources as kubectl takes them: deploy, deployments.apps, Deployment.
	Kinds []string
	// Namespace and Selector select resources, empty for all. A namespace leaves out what is not namespaced.
	Namespace, Selector string
	// Config is the ProviderConfig of the Objects, as KIND/NAME. ProviderConfig.kubernetes.crossplane.io is that of
	// cluster-scoped Objects.
	Config string
	// Adopt has the Objects apply what the authors of the resources have written, and not only observe.
	Adopt bool
}

// An importer makes Objects of resources.
type importer struct {
	options ImportOptions
	mapper  meta.RESTMapper
	dynamic dynamic.Interface
	object  schema.GroupVersionKind // of the Objects
	config  map[string]any          // the reference of each
	names   map[string]bool         // of the Objects so far
	said    io.Writer
	list    *Objects
}

// Objects are the Objects of resources.
type Objects struct{ unstructured.UnstructuredList }

// Import returns an Object for each resource that nobody controls and no Object has. It writes what it leaves out, and
// why, a line each. The exit code is ExitUnknown if something could not be read.
func Import(ctx context.Context, said io.Writer, o ImportOptions) (list *Objects, code int, err error) {
	m := &importer{options: o, said: said, names: map[string]bool{}, list: &Objects{}}
	m.list.SetAPIVersion("v1")
	m.list.SetKind("List")
	if err := m.connect(); err != nil {
		return nil, ExitUnknown, err
	}
	for _, kind := range o.Kinds {
		if err := m.importKind(ctx, kind); err != nil {
			code = ExitUnknown
			m.say("not read", kind, err.Error())
		}
	}
	return m.list, code, nil
}

// connect makes the clients, and finds out what the Objects refer to.
func (m *importer) connect() error {
	kind, name, _ := strings.Cut(m.options.Config, "/")
	switch gk := schema.ParseGroupKind(kind); {
	case name == "":
	case gk == pcv1alpha1.ProviderConfigGroupVersionKind.GroupKind():
		m.object, m.config = objectv1alpha2.ObjectGroupVersionKind, map[string]any{"name": name}
	case gk.Kind == mpcv1alpha1.ProviderConfigGroupVersionKind.Kind,
		gk.Kind == mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind:
		m.object, m.config = mobjectv1alpha1.ObjectGroupVersionKind, map[string]any{"kind": gk.Kind, "name": name}
	}
	if m.config == nil {
		return errors.New("--provider-config must be ClusterProviderConfig/NAME, ProviderConfig/NAME or " +
			pcv1alpha1.ProviderConfigGroupVersionKind.GroupKind().String() + "/NAME")
	}
	var err error
	m.dynamic, m.mapper, err = clientsOf(m.options.Target)
	return err
}

// clientsOf returns a client of a cluster, and what finds its kinds by any name that kubectl knows them by.
func clientsOf(cfg *rest.Config) (dynamic.Interface, meta.RESTMapper, error) {
	dc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot create discovery client")
	}
	cached := memory.NewMemCacheClient(dc)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	d, err := dynamic.NewForConfig(cfg)
	return d, mapper, errors.Wrap(err, "cannot create client")
}

// mappingOf returns how a cluster serves a kind that is named as for kubectl.
func mappingOf(mapper meta.RESTMapper, kind string) (*meta.RESTMapping, error) {
	gvr, gr := schema.ParseResourceArg(strings.ToLower(kind))
	gvk, err := mapper.KindFor(gr.WithVersion(""))
	if err != nil && gvr != nil { // What looks like a version may begin the group.
		gvk, err = mapper.KindFor(*gvr)
	}
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// importKind adds an Object for each resource of a kind, page by page.
func (m *importer) importKind(ctx context.Context, kind string) error {
	mapping, err := mappingOf(m.mapper, kind)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot && m.options.Namespace != "" {
		m.say("skipped", kind, "it is not namespaced: import it without a namespace")
		return nil
	}
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = m.options.Selector
		return m.dynamic.Resource(mapping.Resource).Namespace(m.options.Namespace).List(ctx, o)
	}
	return pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		u, _ := o.(*unstructured.Unstructured) // As all items of such a list.
		manifest, why, err := m.manifest(u)
		switch {
		case err != nil:
			return errors.Wrapf(err, "cannot read %s", nameOf(u, u.GetKind()))
		case why != "":
			m.say("skipped", nameOf(u, u.GetKind()), why)
		default:
			m.list.Items = append(m.list.Items, m.objectFor(u, manifest))
		}
		return nil
	})
}

// manifest returns the manifest of the Object of a resource, or why there is none.
func (m *importer) manifest(u *unstructured.Unstructured) (manifest *unstructured.Unstructured, why string, err error) {
	owner := metav1.GetControllerOf(u)
	switch {
	case owner != nil:
		return nil, "it has a controller: " + owner.Kind + " " + owner.Name, nil
	case targetresource.IsLabelled(u):
		return nil, "an Object or an application applies it", nil
	case u.GetDeletionTimestamp() != nil:
		return nil, "it is being deleted", nil
	case !m.options.Adopt:
		manifest = &unstructured.Unstructured{}
		manifest.SetGroupVersionKind(u.GroupVersionKind())
		manifest.SetNamespace(u.GetNamespace())
		manifest.SetName(u.GetName())
		return manifest, "", nil
	case diff.IsSecret(u.Object):
		return nil, "values of Secrets are not printed: import it without --adopt", nil
	}
	if manifest, err = apply.Authored(u); err == nil && manifest == nil {
		why = "it has no managed fields, which --adopt needs"
	}
	return manifest, why, err
}

// nameMost is how long the name of an Object may be.
const nameMost = 253

// notInName is a character that the name of an Object may not have.
var notInName = regexp.MustCompile(`[^a-z0-9.-]`)

// objectFor returns the Object of a resource. Its name is that of the resource, with a hash where that is no name of an
// Object, or the name of another.
func (m *importer) objectFor(u, manifest *unstructured.Unstructured) unstructured.Unstructured {
	parts := []string{u.GetKind(), u.GetNamespace(), u.GetName()}
	if u.GetNamespace() == "" || m.options.Namespace != "" {
		parts = []string{u.GetKind(), u.GetName()}
	}
	full := strings.ToLower(strings.Join(parts, "-"))
	name := notInName.ReplaceAllString(full, "-")
	if name != full || len(name) > nameMost || m.names[name] {
		sum := sha256.Sum256(fmt.Append(nil, u.GroupVersionKind().GroupKind(), parts))
		hash := "-" + hex.EncodeToString(sum[:4])
		name = strings.TrimRight(name[:min(len(name), nameMost-len(hash))], "-.") + hash
	}
	m.names[name] = true
	policy := "Observe"
	if m.options.Adopt {
		policy = "*"
	}
	o := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"managementPolicies": []any{policy}, "providerConfigRef": m.config,
		"forProvider": map[string]any{"manifest": manifest.Object},
	}}}
	o.SetGroupVersionKind(m.object)
	o.SetName(name)
	return o
}

func (m *importer) say(what, which, why string) {
	_, _ = fmt.Fprintf(m.said, "%s: %s: %s\n", what, which, preflight.Printed(why))
}

// WriteText writes Objects as YAML documents.
func (l *Objects) WriteText(w io.Writer) error {
	for _, o := range l.Items {
		b, err := yaml.Marshal(o.Object)
		if err == nil {
			_, err = fmt.Fprintf(w, "---\n%s", b)
		}
		if err != nil {
			return errors.Wrap(err, "cannot write Objects")
		}
	}
	return nil
}
