package apply

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// ErrTaken means that a resource which was to be introduced exists, and is left as it was.
var ErrTaken = errors.New("resource exists")

// Introduce applies a manifest whose resource does not exist. If somebody makes the resource at this moment, the cause
// of the error is ErrTaken. A creation by POST was rejected, although the server would refuse it then: the creator of a
// resource owns its defaults too, and would later fight over them. Errors repeat no value of a Secret.
func Introduce(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured,
	manager string,
) (*unstructured.Unstructured, error) {
	u, err := patch(ctx, c, manifest, metav1.PatchOptions{FieldManager: manager})
	if err == nil && shared(u, manager) {
		err = errors.WithStack(ErrTaken)
		if werr := Withdraw(ctx, c, u, manager); werr != nil {
			err = werr
		}
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		err = errors.WithStack(ErrTaken)
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot create %s %q", manifest.GetKind(), manifest.GetName())
	}
	return u, nil
}

// shared reports whether others than a manager own fields of a resource. Of one that the manager has just made, nobody
// does.
func shared(u *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(u.GetManagedFields(),
		func(e metav1.ManagedFieldsEntry) bool { return e.Manager != manager })
}
