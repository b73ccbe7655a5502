package object

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// purposeDetails are the resources on the target that connection details come from or, before there is anything to take
// them from, the ServiceAccount of a Secret.
const purposeDetails informer.Purpose = "details"

// gather reads the connection details of an Object. One that is missing makes the Object not ready and does no other
// harm. The error satisfies informer.IsNotSynced as long as a watch has not begun.
func (e *remote) gather(ctx context.Context, o Object) error {
	e.connection = nil
	secret := o.ConnectionSecret()
	if secret.Name == "" {
		e.Cluster.Watches().Done(e.Owner, purposeDetails)
		e.local.Watches().Done(e.Owner, purposeConnection)
		return nil
	}
	s := newConnectionSecret(e.local, e.Owner, secret)
	if _, err := s.see(ctx); err != nil {
		return err
	}
	wanted := o.Desired().ConnectionDetails
	found, err := e.origins(ctx, wanted)
	if err != nil {
		return errors.Wrap(err, "cannot get connection details")
	}
	lacks := s.take(wanted, found)
	e.connection = s
	if len(lacks) > 0 {
		e.unready("Connection details are missing: " + managedadapter.Some(lacks, lacksMost, ", "))
	}
	return nil
}

const (
	// originsMost is how many resources the details of an Object may come from. Each of them takes a watch.
	originsMost = 100
	// lacksMost is how many missing details a message names.
	lacksMost = 10
)

// errNoRoom is why details are missing that the connection secret cannot hold.
var errNoRoom = errors.Errorf("the values have more than the %d bytes that a Secret can contain", corev1.MaxSecretSize)

// take takes the connection details from their origins, as far as a Secret can hold them, and says which are missing
// and why.
func (d *connectionSecret) take(wanted []commonv1.ConnectionDetail,
	found map[corev1.ObjectReference]*origin,
) (lacks []string) {
	room := corev1.MaxSecretSize
	for _, w := range wanted {
		value, err := []byte(nil), errNoRoom
		if room >= 0 {
			value, err = found[originOf(w)].value(w)
		}
		if room -= len(value); room < 0 {
			err = errNoRoom
		}
		if err != nil {
			d.missing = append(d.missing, w.ToConnectionSecretKey)
			lacks = append(lacks, fmt.Sprintf("%s (%v)", w.ToConnectionSecretKey, err))
			continue
		}
		d.values[w.ToConnectionSecretKey] = value
	}
	return lacks
}

// gatherApplied reads the connection details of an Object whose manifest has just been applied, which is no failure if
// a watch has not begun: the Object is woken when it has. One that was ready, as those of an earlier provider are,
// counts as ready until then.
func (e *remote) gatherApplied(ctx context.Context, o Object) error {
	err := e.gather(ctx, o)
	if !informer.IsNotSynced(err) {
		return err
	}
	if last := e.Last(); last == nil || !isReady(last) {
		e.unready("Connection details are not read yet")
	}
	return nil
}

// unready makes the verdict that the Object is not ready, for one more reason.
func (r *reconciliation) unready(why string) {
	v := *r.verdict
	if v.Message != "" {
		why = v.Message + "; " + why
	}
	v.Ready, v.Message = false, why
	r.verdict = &v
}

// value takes a detail from its source. The error says to users why there is none.
func (s *origin) value(d commonv1.ConnectionDetail) ([]byte, error) {
	if problems := validation.IsConfigMapKey(d.ToConnectionSecretKey); len(problems) > 0 {
		return nil, errors.Errorf("toConnectionSecretKey %q is not a valid key of a Secret", d.ToConnectionSecretKey)
	}
	switch {
	case s.lack != "":
		return nil, errors.New(s.lack)
	case s.live == nil:
		return nil, errors.Errorf("%s does not exist", s)
	}
	v, err := detailValue(s.live, d.FieldPath)
	return v, errors.Wrap(err, s.String())
}

// origins looks at all resources that details come from, each once.
func (e *remote) origins(ctx context.Context,
	wanted []commonv1.ConnectionDetail,
) (map[corev1.ObjectReference]*origin, error) {
	found := make(map[corev1.ObjectReference]*origin, len(wanted))
	var all []*origin // that can be looked for
	var kinds []schema.GroupVersionKind
	for _, w := range wanted {
		ref := originOf(w)
		if found[ref] != nil {
			continue
		}
		s := &origin{ref: ref}
		found[ref] = s
		switch {
		case len(found) > originsMost:
			s.lack = fmt.Sprintf("connectionDetails name more than %d resources", originsMost)
		case ref.Name == "" || ref.Kind == "" || ref.GroupVersionKind().Version == "":
			s.lack = "apiVersion, kind and name must be set"
		default:
			all, kinds = append(all, s), append(kinds, ref.GroupVersionKind())
		}
	}
	served, err := e.Cluster.Mappings(ctx, kinds...)
	if err != nil {
		return nil, err
	}
	var early error
	for _, s := range all {
		m, ok := served[s.ref.GroupVersionKind()]
		if !ok {
			s.lack = fmt.Sprintf("target does not serve kind %s of %s", s.ref.Kind, s.ref.GroupVersionKind().GroupVersion())
			continue
		}
		if err := e.seeOrigin(ctx, s, m); informer.IsNotSynced(err) {
			early = err
		} else if err != nil {
			return nil, err
		}
	}
	e.Cluster.Watches().Done(e.Owner, purposeDetails)
	return found, early
}

// seeOrigin looks at an origin where the target keeps it. That it may not be read is a lack of the detail and not a
// failure.
func (e *remote) seeOrigin(ctx context.Context, s *origin, m clusters.Mapping) error {
	i := informer.WatchRequest{Resource: m.Resource, Stream: informer.StreamByName}
	if i.Name = s.ref.Name; m.Namespaced {
		i.Namespace = s.ref.Namespace
	}
	var err error
	switch {
	case m.Namespaced && i.Namespace == "":
		s.lack = fmt.Sprintf("namespace is not set, and kind %s is namespaced", s.ref.Kind)
	case m == e.Mapping && i.NamespacedName == client.ObjectKeyFromObject(e.Manifest):
		s.live = e.live // It is looked at anyhow.
	case m.Watchable:
		s.live, err = e.Cluster.Get(ctx, e.Owner, purposeDetails, i)
	default:
		s.live, err = e.Cluster.Read(ctx, i)
	}
	if apierrors.IsForbidden(err) {
		s.lack, err = fmt.Sprintf("the target denies to get %s: grant permission get", s), nil
	}
	return err
}

// An origin is a resource on the target that connection details come from.
type origin struct {
	ref  corev1.ObjectReference     // as a detail names it
	lack string                     // why it cannot be looked at, empty if it can
	live *unstructured.Unstructured // shared with the watch; nil if it does not exist
}

// originOf returns which resource a detail comes from.
func originOf(d commonv1.ConnectionDetail) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
}

// String names the resource for users.
func (s *origin) String() string {
	return s.ref.Kind + " " + cache.NewObjectName(s.ref.Namespace, s.ref.Name).String()
}

// detailValue returns the value of a field, never nil without an error, which names fields and never quotes values. A
// text is taken as it is, anything else as JSON. We rejected the syntax of Go, which provider-kubernetes gives lists
// and maps, because nothing but Go can read it. Values of a Secret are decoded.
func detailValue(u *unstructured.Unstructured, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("fieldPath is not set")
	}
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, errors.Errorf("fieldPath %q cannot be parsed", path)
	}
	v, err := fieldpath.Pave(u.Object).GetValue(path)
	if err != nil || v == nil {
		return nil, errors.Errorf("there is no field %s", path)
	}
	text, isText := v.(string)
	switch {
	case diff.IsSecret(u.Object) && segments[0].Field == "data":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !isText {
			return nil, errors.Errorf("field %s is not base64", path)
		}
		return b, nil
	case isText:
		return []byte(text), nil
	}
	return encode(v), nil
}

// purposeConnection is the connection secret of an Object.
const purposeConnection informer.Purpose = "connection"

var (
	secretKind = corev1.SchemeGroupVersion.WithKind("Secret")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
)

// A connectionSecret is the connection secret of an Object on the control plane, and what is to be in it.
type connectionSecret struct {
	targetresource.Resource

	values  map[string][]byte // by key
	missing []string          // keys that have no value now, and keep the one they had
}

func newConnectionSecret(local *clusters.Cluster, o informer.Owner, n types.NamespacedName) *connectionSecret {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(secretKind)
	u.SetNamespace(n.Namespace)
	u.SetName(n.Name)
	return &connectionSecret{
		Resource: targetresource.Resource{
			Cluster: local, Owner: o, Purpose: purposeConnection, Manifest: u,
			Mapping: clusters.Mapping{Resource: secrets, Namespaced: true, Readable: true, Watchable: true},
			Admit:   func(context.Context) error { return nil },
		},
		values: map[string][]byte{},
	}
}

// see looks at the Secret, and has the Object woken when it changes.
func (d *connectionSecret) see(ctx context.Context) (*unstructured.Unstructured, error) {
	u, err := d.See(ctx, informer.StreamByName)
	if err != nil && !informer.IsNotSynced(err) {
		return nil, errors.Wrapf(targetresource.ErrControlPlane, "cannot get Secret %s: %v",
			client.ObjectKeyFromObject(d.Manifest), err)
	}
	return u, err
}

// publish writes the connection secret that crossplane-runtime asks for, with what the reconcile has found out.
func (r *reconciliation) publish(ctx context.Context, s *corev1.Secret) error {
	if r.connection == nil {
		return nil // Its content is not known now. What is published stays.
	}
	err := r.connection.publish(ctx, s)
	switch {
	case err == nil, apierrors.IsConflict(err):
		return err
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		// As an answer of the server it would be taken for one of the target, and crossplane-runtime would ask again at
		// once.
		err = errors.Wrapf(targetresource.ErrControlPlane, "cannot write Secret %s: %v",
			client.ObjectKeyFromObject(r.connection.Manifest), err)
	}
	return r.fail(err)
}

// publish makes the Secret what it should be, if it is not. What others have added to its metadata stays. The cause of
// an error is a conflict if our look at the Secret is out of date.
func (d *connectionSecret) publish(ctx context.Context, wanted *corev1.Secret) error {
	live, err := d.see(ctx)
	if err != nil {
		return err
	}
	current := &corev1.Secret{}
	if live != nil {
		if runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, current) != nil { // It might quote a value.
			return errors.Errorf("cannot decode Secret %s, which has fields of wrong types", client.ObjectKeyFromObject(live))
		}
		if err := controllable(current, wanted); err != nil {
			return err
		}
		owners := current.GetOwnerReferences()
		if metav1.GetControllerOf(current) == nil {
			owners = append(owners, wanted.GetOwnerReferences()...)
		}
		wanted = current.DeepCopy()
		wanted.SetOwnerReferences(owners)
	}
	wanted.Data = d.values
	for _, key := range d.missing {
		if v, ok := current.Data[key]; ok {
			wanted.Data[key] = v
		}
	}
	if live != nil && equality.Semantic.DeepEqual(current, wanted) {
		return nil
	}
	return d.write(ctx, wanted)
}

func (d *connectionSecret) write(ctx context.Context, s *corev1.Secret) error {
	content, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(s) // It comes from JSON.
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(secretKind)
	c := d.Cluster.Resource(secrets, u.GetNamespace())
	_, err := d.Write(ctx, func() (*unstructured.Unstructured, error) {
		if u.GetResourceVersion() == "" {
			return c.Create(ctx, u, metav1.CreateOptions{})
		}
		return c.Update(ctx, u, metav1.UpdateOptions{})
	})
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewConflict(secrets.GroupResource(), u.GetName(), err)
	}
	return apply.HideSecret(err, content)
}

// controllable returns an error if an existing Secret is not the Object's to write.
func controllable(current, wanted *corev1.Secret) error {
	by, ours := metav1.GetControllerOf(current), metav1.GetControllerOf(wanted)
	switch {
	case by != nil && by.UID != ours.UID:
		return errors.Errorf("Secret %s/%s is controlled by %s %q: name another in spec.writeConnectionSecretToRef",
			current.Namespace, current.Name, by.Kind, by.Name)
	case by == nil && current.Type != resource.SecretTypeConnection:
		return errors.Errorf("Secret %s/%s exists, has type %q and no controller: "+
			"name another in spec.writeConnectionSecretToRef", current.Namespace, current.Name, current.Type)
	}
	return nil
}
