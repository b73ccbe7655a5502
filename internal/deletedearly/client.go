package deletedearly

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A deletedClient shows lost objects, and writes nothing about them.
type deletedClient struct {
	client.Client

	objects *objects
}

// Get gets an object, as it was if it is lost.
func (c deletedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	if last := c.objects.get(key); last != nil && reflect.TypeOf(last) == reflect.TypeOf(obj) {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(last).Elem())
		return nil
	}
	return c.Client.Get(ctx, key, obj, o...)
}

// Update updates an object.
func (c deletedClient) Update(ctx context.Context, obj client.Object, o ...client.UpdateOption) error {
	if c.objects.written(obj) {
		return nil
	}
	return c.Client.Update(ctx, obj, o...)
}

// Patch patches an object.
func (c deletedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	o ...client.PatchOption,
) error {
	if c.objects.written(obj) {
		return nil
	}
	return c.Client.Patch(ctx, obj, patch, o...)
}

// Status returns a writer of status that remembers what could not be written because the object was gone.
func (c deletedClient) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), objects: c.objects}
}

type statusWriter struct {
	client.SubResourceWriter

	objects *objects
}

// Update updates the status of an object.
func (w statusWriter) Update(ctx context.Context, obj client.Object, o ...client.SubResourceUpdateOption) error {
	if w.objects.written(obj) {
		return nil
	}
	return w.noted(obj, w.SubResourceWriter.Update(ctx, obj, o...))
}

// Patch patches the status of an object.
func (w statusWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	o ...client.SubResourcePatchOption,
) error {
	if w.objects.written(obj) {
		return nil
	}
	return w.noted(obj, w.SubResourceWriter.Patch(ctx, obj, patch, o...))
}

// noted remembers an object that the server did not find, and returns the answer.
func (w statusWriter) noted(obj client.Object, err error) error {
	if apierrors.IsNotFound(err) {
		w.objects.missed(obj)
	}
	return err
}
