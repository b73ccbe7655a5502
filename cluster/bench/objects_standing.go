package main

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// pickUp creates single Objects, each when the one before is Ready.
func (b *objectsBench) pickUp(ctx context.Context) error {
	seen, err := b.control.watch(ctx, objects, "", item.ready)
	if err != nil {
		return err
	}
	defer seen.close()
	for i := range singles {
		took, err := b.pickUpOne(ctx, seen, named("single", i))
		if err != nil {
			return err
		}
		b.got.pickup = append(b.got.pickup, took)
	}
	return b.settle(ctx)
}

func (b *objectsBench) pickUpOne(ctx context.Context, seen *sighting, name string) (time.Duration, error) {
	o, err := b.newObject(name, config)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := b.control.create(ctx, objects, o); err != nil {
		return 0, err
	}
	at, err := seen.await(ctx, name)
	return at.Sub(begin), err
}

// driftAway changes a field of single ConfigMaps that their Objects set.
func (b *objectsBench) driftAway(ctx context.Context) error {
	// The watch begins now, so that the first ConfigMap it shows as wanted is one that has been reverted.
	seen, err := b.target.watch(ctx, configMaps, namespace, item.undrifted)
	if err != nil {
		return err
	}
	defer seen.close()
	change := []byte(`{"data":{"` + driftKey + `":"red"}}`)
	for i := range singles {
		name := named("single", i)
		begin := time.Now()
		_, err := b.target.resource(configMaps, namespace).Patch(ctx, name, types.MergePatchType, change,
			metav1.PatchOptions{})
		if err != nil {
			return errors.Wrapf(err, "cannot change ConfigMap %q", name)
		}
		at, err := seen.await(ctx, name)
		if err != nil {
			return err
		}
		b.got.drift = append(b.got.drift, at.Sub(begin))
	}
	return b.settle(ctx)
}

func (b *objectsBench) takeRest(ctx context.Context) (err error) {
	b.got.rest, err = b.rest(ctx, cmp.Or(b.options.poll, restTime))
	return err
}

// restart kills the provider, and starts another beside a new Object.
func (b *objectsBench) restart(ctx context.Context) error {
	b.provider.Kill()
	seen, err := b.control.watch(ctx, objects, "", item.ready)
	if err != nil {
		return err
	}
	defer seen.close()
	begin, err := b.mark()
	if err != nil {
		return err
	}
	const name = "restart"
	start := time.Now()
	if err := b.startProvider(); err != nil {
		return err
	}
	if _, err := b.pickUpOne(ctx, seen, name); err != nil {
		return err
	}
	b.got.again.ready = time.Since(start)
	if err := b.settle(ctx); err != nil {
		return err
	}
	uid, err := b.control.uid(ctx, name)
	if err != nil {
		return err
	}
	b.got.again.mine = func(e local.AuditEvent) bool { return concerns(e, name, uid) }
	if b.got.again.traffic, err = b.since(begin); err != nil {
		return err
	}
	if b.got.again.cpu, err = b.provider.CPU(); err != nil {
		return err
	}
	b.got.again.peak, err = b.provider.PeakRSS()
	return err
}

// concerns reports whether a request is about an Object: about itself, about the record of use of its ProviderConfig,
// which is named by its UID, about one of its events, whose names begin with its name, or about the number of users of
// its ProviderConfig.
func concerns(e local.AuditEvent, name, uid string) bool {
	return e.Name == name || e.Name == uid || strings.HasPrefix(e.Name, name+".") ||
		e.Resource == providerConfigs.Resource && e.Subresource == "status"
}

// uid returns the UID of an Object.
func (s *server) uid(ctx context.Context, name string) (string, error) {
	o, err := s.resource(objects, "").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", errors.Wrapf(err, "cannot get Object %q", name)
	}
	return string(o.GetUID()), nil
}
