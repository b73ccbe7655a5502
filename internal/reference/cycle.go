package reference

import (
	"context"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// circles makes the references that lead an Object back to itself fail, and returns the Objects on the way.
func (r *Resolver) circles(ctx context.Context, f Referrer, refs []located) ([]want, error) {
	var members []want
	for i := range refs {
		if refs[i].Err != nil || !r.isObject(refs[i].GVK) {
			continue
		}
		w := walk{resolver: r, home: want{NamespacedName: client.ObjectKeyFromObject(f), kind: f.GVK.GroupKind()}, been: map[want]bool{}}
		path, err := w.back(ctx, r.want(&refs[i].Reference))
		if err != nil {
			return nil, refused(err)
		}
		if len(path) > 0 {
			refs[i].Err = circle(f, path)
			members = append(members, path...)
		}
	}
	return members, nil
}

// circle says through which Objects an Object refers to itself.
func circle(f Referrer, path []want) error {
	names := []string{describe(f.GVK.Kind, client.ObjectKeyFromObject(f))}
	for _, w := range path {
		names = append(names, describe(f.GVK.Kind, w.NamespacedName))
	}
	return problem{error: errors.New("references form a cycle: " + strings.Join(names, " -> ")), reason: commonv1.ReasonReferenceCycle}
}

// A walk looks for the way back to an Object along the references of others.
type walk struct {
	resolver *Resolver
	home     want
	been     map[want]bool
}

// back returns the Objects from one on the way back to the first, both included, none if there is no way.
func (w *walk) back(ctx context.Context, at want) ([]want, error) {
	objs, err := w.resolver.objects.lookup(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, o := range objs {
		here := want{NamespacedName: client.ObjectKeyFromObject(o), kind: at.kind}
		if here == w.home {
			return []want{here}, nil
		}
		if w.been[here] {
			continue
		}
		w.been[here] = true
		for _, next := range w.resolver.neighbours(o, at.kind) {
			rest, err := w.back(ctx, next)
			if err != nil {
				return nil, err
			}
			if len(rest) > 0 {
				return append([]want{here}, rest...), nil
			}
		}
	}
	return nil, nil
}

// neighbours returns the Objects that an Object refers to.
func (r *Resolver) neighbours(o Object, kind schema.GroupKind) []want {
	rules := Rules{GVK: r.objects.kinds[kind].GVK, Namespace: o.GetNamespace(), CrossNamespace: r.crossNamespace}
	var wants []want
	for _, ref := range Normalise(o.Desired(), rules) {
		if ref.Err != nil || !r.isObject(ref.GVK) {
			continue
		}
		wants = append(wants, r.want(&ref))
	}
	return wants
}
