package commandline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
)

// A Node is a resource in a trace.
type Node struct {
	// Name is its kind, namespace and name, and of one on a target the ProviderConfig.
	Name string `json:"name"`
	// Conditions are Synced and Ready, each with a reason and a message if it is not True. None if it has none.
	Conditions []string `json:"conditions,omitempty"`
	// Says is what else its Object tells: its health, and who else owns fields of the manifest.
	Says []string `json:"says,omitempty"`
	// Unknown is why it could not be read.
	Unknown string `json:"unknown,omitempty"`
	// Children are what it consists of.
	Children []*Node `json:"children,omitempty"`

	code int
}

// A Trace is a resource of the control plane with all that it consists of.
type Trace struct {
	// ExitCode is 0 if all is Ready, ExitDifferent if something is not, ExitUnknown if something could not be read.
	ExitCode int `json:"exitCode"`
	// Cause is the first, of the deepest, that is not Ready, and why. Empty if all is Ready.
	Cause string `json:"cause,omitempty"`
	Root  *Node  `json:"root"`
}

// A tracer follows what resources of the control plane consist of.
type tracer struct {
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	seen    map[string]bool
}

// TraceOf returns what a resource of the control plane, KIND/NAME, in a namespace if it is namespaced, consists of. It
// goes by what statuses say, and asks no target.
func TraceOf(ctx context.Context, cfg *rest.Config, namespace, which string) (Trace, error) {
	kind, name, _ := strings.Cut(which, "/")
	if name == "" {
		return Trace{}, errors.Errorf("%q must have the form KIND/NAME", which)
	}
	d, mapper, err := clientsOf(cfg)
	if err != nil {
		return Trace{}, err
	}
	t := &tracer{dynamic: d, mapper: mapper, seen: map[string]bool{}}
	m, err := mappingOf(t.mapper, kind)
	if err != nil {
		return Trace{}, errors.Wrapf(err, "cannot find kind %s", kind)
	}
	out := Trace{Root: t.look(ctx, m, namespace, name)}
	out.conclude(out.Root)
	return out, nil
}

// conclude takes the worst of a resource and of what it consists of, which is the cause before the resource is.
func (t *Trace) conclude(n *Node) {
	for _, c := range n.Children {
		t.conclude(c)
	}
	t.ExitCode = max(t.ExitCode, n.code)
	if n.code > 0 && t.Cause == "" {
		t.Cause = n.Name + ": " + strings.Join(n.texts(), "; ")
	}
}

// look returns a resource and what it consists of.
func (t *tracer) look(ctx context.Context, m *meta.RESTMapping, namespace, name string) *Node {
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	n := &Node{Name: nameOf(&metav1.ObjectMeta{Namespace: namespace, Name: name}, m.GroupVersionKind.Kind)}
	key := m.Resource.String() + n.Name
	if t.seen[key] {
		return n // It was shown.
	}
	t.seen[key] = true
	u, err := t.dynamic.Resource(m.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		n.Says, n.code = []string{"it does not exist"}, ExitDifferent
		return n
	case err != nil:
		n.Unknown, n.code = err.Error(), ExitUnknown
		return n
	}
	n.take(u)
	for _, ref := range refsOf(u) {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		m, err := t.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			n.Children = append(n.Children, &Node{Name: ref.Kind + " " + ref.Name, Unknown: err.Error(), code: ExitUnknown})
			continue
		}
		n.Children = append(n.Children, t.look(ctx, m, cmp.Or(ref.Namespace, namespace), ref.Name))
	}
	if o := newObject(u.GroupVersionKind().GroupKind()); o != nil {
		n.Children = append(n.Children, resourceOf(u, o))
	}
	return n
}

// take fills in the conditions of a resource. What has neither, as resources of Kubernetes have not, is as ready as it
// can be, unless it is of Crossplane: then nobody has looked at it.
func (n *Node) take(u *unstructured.Unstructured) {
	s, content := xpv2.ConditionedStatus{}, map[string]any{}
	content["conditions"], _, _ = unstructured.NestedFieldNoCopy(u.Object, "status", "conditions")
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &s) // What is malformed is none.
	synced, ready := s.GetCondition(xpv2.TypeSynced), s.GetCondition(xpv2.TypeReady)
	ofCrossplane := newObject(u.GroupVersionKind().GroupKind()) != nil || len(refsOf(u)) > 0
	if synced.Reason == "" && ready.Reason == "" && !ofCrossplane {
		return
	}
	for _, c := range []xpv2.Condition{synced, ready} {
		text := fmt.Sprintf("%s=%s", c.Type, c.Status)
		if c.Status != corev1.ConditionTrue {
			n.code = ExitDifferent
			text = strings.TrimRight(fmt.Sprintf("%s %s: %s", text, c.Reason, c.Message), ": ")
		}
		n.Conditions = append(n.Conditions, text)
	}
}

// refsOf returns what a claim or a composite resource of Crossplane 1 or 2 names as its parts.
func refsOf(u *unstructured.Unstructured) []corev1.ObjectReference {
	type parts struct {
		Claimed corev1.ObjectReference   `json:"resourceRef"`
		Refs    []corev1.ObjectReference `json:"resourceRefs"`
	}
	s := struct {
		parts `json:",inline"`

		Crossplane parts `json:"crossplane"`
	}{}
	spec, _ := u.Object["spec"].(map[string]any)
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &s) // Others may use these words for something else.
	all := slices.Concat(s.Refs, s.Crossplane.Refs)
	if s.Claimed.Name != "" {
		all = append(all, s.Claimed)
	}
	return all
}

// resourceOf returns the resource of an Object, as the status of the Object shows it.
func resourceOf(u *unstructured.Unstructured, o object.Object) *Node {
	n, live, manifest := &Node{Name: "resource"}, &unstructured.Unstructured{}, &unstructured.Unstructured{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	if err == nil {
		err = utiljson.Unmarshal(o.Desired().ForProvider.Manifest.Raw, &manifest.Object)
	}
	if err != nil || utiljson.Unmarshal(o.Observed().Manifest.Raw, &live.Object) != nil || live.GetUID() == "" {
		n.Says = []string{"it was not seen yet"}
		return n
	}
	n.Name = nameOf(live, live.GetKind())
	if r := o.Observed().ProviderConfigReference; r != nil {
		n.Name += " on " + r.Name
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	v, err := readiness.Of(commonv1.Readiness{Policy: commonv1.ReadinessAllTrue}, live, false)
	if err == nil && !v.Ready && len(conditions) > 0 {
		n.Says = append(n.Says, v.Message)
	}
	owners, err := apply.Owners(live, manifest, object.ManagerOf(o))
	if err != nil {
		n.Unknown, n.code = err.Error(), ExitUnknown
	}
	n.Says = append(n.Says, owners...)
	return n
}

func (n *Node) texts() []string {
	all := append(append([]string{}, n.Conditions...), n.Says...)
	if n.Unknown != "" {
		all = append(all, "unknown: "+n.Unknown)
	}
	return all
}

// WriteText writes a trace for people: a tree, and the cause in the last line.
func (t *Trace) WriteText(w io.Writer) error {
	var b strings.Builder
	t.Root.write(&b, "")
	if t.Cause != "" {
		fmt.Fprintf(&b, "cause: %s\n", preflight.Printed(t.Cause))
	}
	_, err := io.WriteString(w, b.String())
	return errors.Wrap(err, "cannot write trace")
}

func (n *Node) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s\n", indent, n.Name)
	for _, text := range n.texts() {
		fmt.Fprintf(b, "%s  · %s\n", indent, preflight.Printed(text))
	}
	for _, c := range n.Children {
		c.write(b, indent+"  ")
	}
}
