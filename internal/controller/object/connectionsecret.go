package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

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
		},
		values: map[string][]byte{},
	}
}

// see looks at the Secret, and has the Object woken when it changes.
func (d *connectionSecret) see(ctx context.Context) (*unstructured.Unstructured, error) {
	u, err := d.See(ctx, informer.StreamByName)
	if err != nil && !informer.IsNotSynced(err) {
		return nil, errors.Wrapf(targetresource.ErrControlPlane, "cannot get Secret %s: %v",
			targetresource.Name(d.Manifest), err)
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
			targetresource.Name(r.connection.Manifest), err)
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
			return errors.Errorf("cannot decode Secret %s, which has fields of wrong types", targetresource.Name(live))
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
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil { // It might quote a value.
		return errors.Errorf("cannot encode Secret %s", targetresource.Name(d.Manifest))
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(secretKind)
	c := d.Cluster.Resource(secrets, u.GetNamespace())
	_, err = d.Write(ctx, func() (*unstructured.Unstructured, error) {
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
