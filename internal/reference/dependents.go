package reference

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

const (
	// indexUID is the index of the cache by which an Object is found by its UID.
	indexUID = "metadata.uid"
	// namesMost is how many dependents a message names.
	namesMost = 5
)

// Index makes the cache find Objects by their UID. It must be called before the cache starts.
func (r *Resolver) Index(ctx context.Context, i client.FieldIndexer) error {
	for _, k := range r.objects.kinds {
		uid := func(o client.Object) []string { return []string{string(o.GetUID())} }
		if err := i.IndexField(ctx, k.New(), indexUID, uid); err != nil {
			return errors.Wrapf(err, "cannot index %s", k.GVK.GroupKind())
		}
	}
	return nil
}

// Dependents returns an error that names the Objects which keep a deleted one, nil if there are none.
func (r *Resolver) Dependents(ctx context.Context, o client.Object) error {
	var names []string
	for _, f := range o.GetFinalizers() {
		uid, ok := strings.CutPrefix(f, commonv1.FinalizerReferredPrefix)
		if !ok {
			continue
		}
		name, err := r.nameOf(ctx, types.UID(uid))
		if err != nil {
			return refused(err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	if n := len(names); n > namesMost {
		names = append(names[:namesMost], fmt.Sprintf("%d more", n-namesMost))
	}
	return problem{
		error:  errors.New("waiting for dependents to be deleted: " + strings.Join(names, ", ")),
		reason: commonv1.ReasonWaitingForDependents,
	}
}

// nameOf names the Object with a UID for users.
func (r *Resolver) nameOf(ctx context.Context, uid types.UID) (string, error) {
	for gk, k := range r.objects.kinds {
		objs, err := r.objects.list(ctx, gk, client.MatchingFields{indexUID: string(uid)})
		if err != nil {
			return "", err
		}
		for _, o := range objs {
			return describe(k.GVK.Kind, client.ObjectKeyFromObject(o)), nil
		}
	}
	return "an Object with UID " + string(uid), nil
}
