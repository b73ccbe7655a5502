package main

import (
	"context"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a provider has to write of an object, and an operator.
var (
	holdPatch   = []byte(`{"metadata":{"finalizers":["syncagent.kcp.io/cleanup"]}}`)
	issuedPatch = []byte(`{"status":{"phase":"` + issued + `","message":"It is made of felt and fits"}}`)
)

func (b *syncBench) firstFloor(ctx context.Context) error {
	for _, c := range b.consumers {
		if err := b.service.create(ctx, namespaces, &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: c.name},
		}); err != nil {
			return err
		}
	}
	return b.floor(ctx, 0)
}

func (b *syncBench) secondFloor(ctx context.Context) error {
	b.provider.Kill()
	return b.floor(ctx, 1)
}

// floor measures what objects, their copies and statuses cost without a provider, and removes them again. No provider
// may run meanwhile.
func (b *syncBench) floor(ctx context.Context, i int) error {
	const name = "floor"
	if _, err := b.floorOf(ctx, warmUp,
		func(ctx context.Context, i int) error { return b.floorCreate(ctx, i, name+"-warm") }); err != nil {
		return err
	}
	var err error
	b.got.createFloors[i], err = b.floorOf(ctx, b.got.n,
		func(ctx context.Context, i int) error { return b.floorCreate(ctx, i, name) })
	if err != nil {
		return err
	}
	b.got.statusFloors[i], err = b.floorOf(ctx, b.got.n, func(ctx context.Context, i int) error {
		if err := b.issue(ctx, i, name); err != nil {
			return err
		}
		return b.patchAbove(ctx, i, named(name, i), issuedPatch, "status")
	})
	if err != nil {
		return err
	}
	return errors.Wrap(b.clear(ctx, name), "cannot clean up")
}

func (b *syncBench) floorOf(ctx context.Context, n int, do func(context.Context, int) error) (f floored, err error) {
	f.cpu, err = spend(func() error {
		begin := time.Now()
		err := each(ctx, n, do)
		f.wall = time.Since(begin)
		return err
	})
	return f, err
}

// floorCreate creates an object, holds it and creates its copy.
func (b *syncBench) floorCreate(ctx context.Context, i int, phase string) error {
	h := newHat(named(phase, i))
	if err := b.workspace(i).create(ctx, hats, h); err != nil {
		return err
	}
	if err := b.patchAbove(ctx, i, h.GetName(), holdPatch); err != nil {
		return err
	}
	h.SetNamespace(b.workspace(i).name)
	return b.service.create(ctx, hats, h)
}

// patchAbove changes an object as a provider does, through the endpoint.
func (b *syncBench) patchAbove(ctx context.Context, i int, name string, patch []byte, subresources ...string) error {
	_, err := b.agents[i%workspaces].resource(hats, corev1.NamespaceDefault).
		Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	return errors.Wrapf(err, "cannot patch %q", name)
}

// clear deletes the objects and copies of a phase.
func (b *syncBench) clear(ctx context.Context, phase string) error {
	for _, c := range b.consumers {
		if err := clearOf(ctx, c.resource(hats, corev1.NamespaceDefault), phase); err != nil {
			return err
		}
		if err := clearOf(ctx, b.service.resource(hats, c.name), phase); err != nil {
			return err
		}
	}
	return nil
}
