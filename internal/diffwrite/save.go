package diffwrite

import (
	"context"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// saveTimeout bounds the write of a status.
const saveTimeout = 30 * time.Second

// Save patches the status of an object if it has changed since before. That the object is gone is no error.
func Save(ctx context.Context, c client.Client, before, now client.Object) error {
	keepSame(before, now)
	if equality.Semantic.DeepEqual(status(before), status(now)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	err := client.IgnoreNotFound(c.Status().Patch(ctx, now, client.MergeFrom(before)))
	return errors.Wrapf(err, "cannot write the status of %q", now.GetName())
}
