package target

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mappings returns how the target serves kinds, without those it does not serve. Who asks waits for these, and for no
// others.
func (k *kinds) mappings(ctx context.Context, w waiter,
	gvks []schema.GroupVersionKind,
) (map[schema.GroupVersionKind]Mapping, error) {
	for _, gvk := range k.unsought(gvks) {
		if err := k.discoverOnce(ctx, gvk); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unwait(w)
	served := make(map[schema.GroupVersionKind]Mapping, len(gvks))
	for _, gvk := range gvks {
		m, ok := k.known[gvk]
		if !ok {
			k.wait(w, gvk)
			continue
		}
		served[gvk] = m
	}
	return served, nil
}

// unsought returns the kinds that are neither known nor looked for.
func (k *kinds) unsought(gvks []schema.GroupVersionKind) []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	var unsought []schema.GroupVersionKind
	for _, gvk := range gvks {
		if _, ok := k.known[gvk]; !ok && len(k.waiting[gvk]) == 0 {
			unsought = append(unsought, gvk)
		}
	}
	return unsought
}
