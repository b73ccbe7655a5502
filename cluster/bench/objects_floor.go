package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// warmUp is how many Objects of the floor are made before the clock runs: the first requests to a server are slow.
const warmUp = 50

// floor measures what Objects and ConfigMaps cost without a provider, and removes them again. No provider may run
// meanwhile.
func (b *objectsBench) floor(ctx context.Context, phase string) (f floored, err error) {
	if err := b.floorOf(ctx, phase+"-warm", warmUp); err != nil {
		return f, err
	}
	f.cpu, err = spend(func() error {
		begin := time.Now()
		err := b.floorOf(ctx, phase, b.options.n)
		f.wall = time.Since(begin)
		return err
	})
	if err != nil {
		return f, err
	}
	return f, errors.Wrap(b.clear(ctx, phase), "cannot clean up")
}

func (b *objectsBench) floorOf(ctx context.Context, phase string, n int) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		name := named(phase, i)
		o, err := b.newObject(name, config)
		if err != nil {
			return err
		}
		if err := b.control.create(ctx, objects, o); err != nil {
			return err
		}
		cm, err := unstructuredOf(newConfigMap(name))
		if err != nil {
			return err
		}
		live, err := b.target.resource(configMaps, namespace).Create(ctx, cm, metav1.CreateOptions{})
		if err != nil {
			return errors.Wrapf(err, "cannot create ConfigMap %q", name)
		}
		status, err := statusPatch(live)
		if err != nil {
			return err
		}
		_, err = b.control.resource(objects, "").Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{},
			"status")
		return errors.Wrapf(err, "cannot patch status of Object %q", name)
	})
}

// statusPatch returns a status of the content and size that a provider writes.
func statusPatch(live *unstructured.Unstructured) ([]byte, error) {
	manifest, err := live.MarshalJSON()
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode ConfigMap")
	}
	hash := strings.Repeat("0", 64)
	s := commonv1.ObjectStatus{AtProvider: commonv1.ObjectObservation{
		Manifest: runtime.RawExtension{Raw: manifest},
		Applied:  &commonv1.AppliedRecord{ManifestHash: hash, FieldsHash: hash},
	}}
	s.SetConditions(xpv2.Available(), xpv2.ReconcileSuccess())
	patch, err := json.Marshal(map[string]any{"status": s})
	return patch, errors.Wrap(err, "cannot encode status")
}

// clear deletes the Objects and ConfigMaps whose names begin with that of a phase, finalizers or not.
func (b *objectsBench) clear(ctx context.Context, phase string) error {
	if err := clearOf(ctx, b.control.resource(objects, ""), phase); err != nil {
		return err
	}
	return clearOf(ctx, b.target.resource(configMaps, namespace), phase)
}

func clearOf(ctx context.Context, c dynamic.ResourceInterface, phase string) error {
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil {
		return errors.Wrap(err, "cannot list")
	}
	return each(ctx, len(list.Items), func(ctx context.Context, i int) error {
		o := list.Items[i]
		if !strings.HasPrefix(o.GetName(), phase) {
			return nil
		}
		if len(o.GetFinalizers()) > 0 {
			released := []byte(`{"metadata":{"finalizers":null}}`)
			if _, err := c.Patch(ctx, o.GetName(), types.MergePatchType, released, metav1.PatchOptions{}); err != nil {
				return errors.Wrapf(err, "cannot take finalizers off %q", o.GetName())
			}
		}
		return errors.Wrapf(c.Delete(ctx, o.GetName(), metav1.DeleteOptions{}), "cannot delete %q", o.GetName())
	})
}

func unstructuredOf(obj any) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	return &unstructured.Unstructured{Object: content}, errors.Wrap(err, "cannot encode object")
}
