package commandline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/claim"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/composite"
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
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
)

// A tracer follows what resources of the control plane consist of.
type tracer struct {
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	seen    map[string]bool
}

// Trace returns what a resource of the control plane, KIND/NAME, in a namespace if it is namespaced, consists of. It
// goes by what statuses say, and asks no target.
func Trace(ctx context.Context, cfg *rest.Config, namespace, which string) (*Report, error) {
	kind, name, _ := strings.Cut(which, "/")
	r := &Report{tree: true}
	if name == "" {
		return r, errors.Errorf("%q must have the form KIND/NAME", which)
	}
	d, mapper, err := clientsOf(cfg)
	if err != nil {
		return r, err
	}
	m, err := mappingOf(mapper, kind)
	if err != nil {
		return r, errors.Wrapf(err, "cannot find kind %s", kind)
	}
	r.add((&tracer{dynamic: d, mapper: mapper, seen: map[string]bool{}}).look(ctx, m, namespace, name))
	return r, nil
}

// look returns a resource and what it consists of.
func (t *tracer) look(ctx context.Context, m *meta.RESTMapping, namespace, name string) *Result {
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	s := &Result{Object: nameOf(&metav1.ObjectMeta{Namespace: namespace, Name: name}, m.GroupVersionKind.Kind)}
	key := m.Resource.String() + s.Object
	if t.seen[key] {
		return s // It was shown.
	}
	t.seen[key] = true
	u, err := t.dynamic.Resource(m.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.Effect, s.Messages = NotReady, []string{"it does not exist"}
		return s
	case err != nil:
		s.isUnknown(err)
		return s
	}
	refs, o := refsOf(u), newObject(u.GroupVersionKind().GroupKind())
	s.showConditions(u, o != nil || len(refs) > 0)
	for _, ref := range refs {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		part := &Result{Object: ref.Kind + " " + ref.Name}
		if m, err := t.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			part.isUnknown(err)
		} else {
			part = t.look(ctx, m, cmp.Or(ref.Namespace, namespace), ref.Name)
		}
		s.Parts = append(s.Parts, part)
	}
	if o != nil {
		s.Parts = append(s.Parts, resourceOf(u, o))
	}
	return s
}

func (s *Result) isUnknown(err error) {
	s.Effect, s.Messages = Unknown, append(s.Messages, "unknown: "+err.Error())
}

// showConditions adds conditions Synced and Ready of a resource to the result. A resource of Crossplane without them
// has not been reconciled yet. Other resources have neither.
func (s *Result) showConditions(u *unstructured.Unstructured, ofCrossplane bool) {
	of := composite.Unstructured{Unstructured: *u}
	status := xpv2.ConditionedStatus{Conditions: of.GetConditions()} // What is malformed is none.
	synced, ready := status.GetCondition(xpv2.TypeSynced), status.GetCondition(xpv2.TypeReady)
	if synced.Reason == "" && ready.Reason == "" && !ofCrossplane {
		return
	}
	for _, c := range []xpv2.Condition{synced, ready} {
		text := fmt.Sprintf("%s=%s", c.Type, c.Status)
		if c.Status != corev1.ConditionTrue {
			s.Effect = NotReady
			text = strings.TrimRight(fmt.Sprintf("%s %s: %s", text, c.Reason, c.Message), ": ")
		}
		s.Messages = append(s.Messages, text)
	}
}

// refsOf returns what a claim or a composite resource of Crossplane 1 or 2 names as its parts.
func refsOf(u *unstructured.Unstructured) []corev1.ObjectReference {
	modern := composite.Unstructured{Unstructured: *u, Schema: composite.SchemaModern}
	legacy := composite.Unstructured{Unstructured: *u, Schema: composite.SchemaLegacy}
	all := slices.Concat(legacy.GetResourceReferences(), modern.GetResourceReferences())
	if r := (&claim.Unstructured{Unstructured: *u}).GetResourceReference(); r != nil && r.Name != "" {
		namespace := ptr.Deref(r.Namespace, "")
		all = append(all,
			corev1.ObjectReference{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: namespace, Name: r.Name})
	}
	return all
}

// resourceOf returns the resource of an Object, as the status of the Object shows it: whether it works, and who else
// owns fields of the manifest.
func resourceOf(u *unstructured.Unstructured, o object.Object) *Result {
	s, live, manifest := &Result{}, &unstructured.Unstructured{}, &unstructured.Unstructured{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	if err == nil {
		err = utiljson.Unmarshal(o.Desired().ForProvider.Manifest.Raw, &manifest.Object)
	}
	if err != nil || utiljson.Unmarshal(o.Observed().Manifest.Raw, &live.Object) != nil || live.GetUID() == "" {
		s.Resource, s.Messages = "resource", []string{"it was not seen yet"}
		return s
	}
	s.Resource = nameOf(live, live.GetKind())
	if r := o.Observed().ProviderConfigReference; r != nil {
		s.Target = r.Name
	}
	if v := readiness.HealthOf(live, false).Verdict(); !v.Ready {
		s.Messages = append(s.Messages, v.Message)
	}
	owners, err := apply.Owners(live, manifest, object.ManagerOf(o))
	if s.Messages = append(s.Messages, owners...); err != nil {
		s.isUnknown(err)
	}
	return s
}
