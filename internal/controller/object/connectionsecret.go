package object

import (
	"context"
	"encoding/base64"
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// purposeConnection is the connection secret of an Object.
const purposeConnection informer.Purpose = "connection"

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// seeConnectionSecret looks at a connection secret on the control plane, and has its owner woken when it changes.
func seeConnectionSecret(ctx context.Context, local *target.Cluster, o informer.Owner,
	n types.NamespacedName,
) (*unstructured.Unstructured, error) {
	i := informer.Interest{Resource: secrets, NamespacedName: n, Stream: informer.StreamByName}
	local.Watches().Track(o, purposeConnection, i)
	u, err := local.Get(ctx, o, i)
	if err != nil && !informer.IsNotSynced(err) {
		return nil, errors.Wrapf(errControlPlane, "cannot get Secret %s: %v", n, err)
	}
	return u, err
}

// publish writes the connection secret that crossplane-runtime asks for, with what the reconcile has found out.
func (r *reconciliation) publish(ctx context.Context, s *corev1.Secret) error {
	if r.details == nil {
		return nil // They are not known now. What is published stays.
	}
	err := r.details.publish(ctx, s)
	switch {
	case err == nil, apierrors.IsConflict(err):
		return err
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		// As an answer of the server it would be taken for one of the target, and crossplane-runtime would ask again at
		// once.
		err = errors.Wrapf(errControlPlane, "cannot write Secret %s: %v", r.details.secret, err)
	}
	return r.fail(err)
}

// publish makes the connection secret what it should be, if it is not. The cause of an error is a conflict if our look
// at the secret is out of date.
func (d *details) publish(ctx context.Context, s *corev1.Secret) error {
	current, err := seeConnectionSecret(ctx, d.local, d.owner, d.secret)
	if err != nil {
		return err
	}
	if err := controllable(current, s); err != nil {
		return err
	}
	s.Data = d.merge(current)
	wanted, err := overlay(current, s)
	if err != nil || wanted == nil {
		return err
	}
	err = d.write(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewConflict(secrets.GroupResource(), d.secret.Name, err)
	}
	return err
}

// write writes a Secret, and shows the answer to the next look.
func (d *details) write(ctx context.Context, u *unstructured.Unstructured) error {
	r := d.local.Resource(secrets, u.GetNamespace())
	write := func() (*unstructured.Unstructured, error) { return r.Update(ctx, u, metav1.UpdateOptions{}) }
	if u.GetResourceVersion() == "" {
		write = func() (*unstructured.Unstructured, error) { return r.Create(ctx, u, metav1.CreateOptions{}) }
	}
	answer, err := write()
	if err == nil {
		d.local.Watches().Put(d.owner, secrets, answer)
	}
	return apply.HideSecret(err, u.Object)
}

// controllable returns an error if an existing Secret is not the Object's to write.
func controllable(current *unstructured.Unstructured, s *corev1.Secret) error {
	if current == nil {
		return nil
	}
	by, ours := metav1.GetControllerOf(current), metav1.GetControllerOf(s)
	kind, _, _ := unstructured.NestedString(current.Object, "type")
	switch {
	case by != nil && by.UID != ours.UID:
		return errors.Errorf("Secret %s is controlled by %s %q", name(current), by.Kind, by.Name)
	case by == nil && kind != string(resource.SecretTypeConnection):
		return errors.Errorf("Secret %s exists, has type %q and no controller", name(current), kind)
	}
	return nil
}

// merge returns the values to publish: those that are known, and for keys whose value is missing the one published
// before.
func (d *details) merge(current *unstructured.Unstructured) map[string][]byte {
	data := maps.Clone(d.values)
	if current == nil {
		return data
	}
	published, _, _ := unstructured.NestedStringMap(current.Object, "data")
	for _, key := range d.missing {
		encoded, ok := published[key]
		if b, err := base64.StdEncoding.DecodeString(encoded); ok && err == nil {
			data[key] = b
		}
	}
	return data
}

// overlay returns what to write so that a Secret exists as wanted, nil if it does. What others have added to its
// metadata stays.
func overlay(current *unstructured.Unstructured, s *corev1.Secret) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		// The cause might quote a value.
		return nil, errors.Errorf("cannot encode Secret %s/%s", s.GetNamespace(), s.GetName())
	}
	wanted := &unstructured.Unstructured{Object: content}
	wanted.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if current == nil {
		return wanted, nil
	}
	before, _, _ := unstructured.NestedStringMap(current.Object, "data")
	after, _, _ := unstructured.NestedStringMap(wanted.Object, "data")
	if maps.Equal(before, after) &&
		metav1.IsControlledBy(current, &metav1.ObjectMeta{UID: metav1.GetControllerOf(s).UID}) {
		return nil, nil //nolint:nilnil // There is nothing to write.
	}
	u := current.DeepCopy()
	if data, ok := wanted.Object["data"]; ok {
		u.Object["data"] = data
	} else {
		delete(u.Object, "data")
	}
	if metav1.GetControllerOf(current) == nil {
		u.SetOwnerReferences(append(u.GetOwnerReferences(), s.GetOwnerReferences()...))
	}
	return u, nil
}
