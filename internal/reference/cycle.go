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
func (r *Resolver) circles(ctx context.Context, f Referrer, refs []located) ([]objectInterest, error) {
	home := objectInterest{NamespacedName: client.ObjectKeyFromObject(f), kind: f.GVK.GroupKind()}
	w := newWalk(r)
	starts := make([][]objectInterest, len(refs))
	for i := range refs {
		if refs[i].Err != nil || !r.isObject(refs[i].GVK) {
			continue
		}
		var err error
		if starts[i], err = w.visit(ctx, r.want(&refs[i].Reference)); err != nil {
			return nil, refused(err)
		}
	}
	next := w.toward(home)
	var members []objectInterest
	for i := range refs {
		if path := pathFrom(starts[i], home, next); len(path) > 0 {
			refs[i].Err = circle(f, path)
			members = append(members, path...)
		}
	}
	return members, nil
}

// circle says through which Objects an Object refers to itself.
func circle(f Referrer, path []objectInterest) error {
	names := []string{describe(f.GVK.Kind, client.ObjectKeyFromObject(f))}
	for _, w := range path {
		names = append(names, describe(f.GVK.Kind, w.NamespacedName))
	}
	return problem{
		error:  errors.New("references form a cycle: " + strings.Join(names, " -> ")),
		reason: commonv1.ReasonReferenceCycle,
	}
}

// A walk visits the Objects that can be reached along references, each once however many references lead to it.
type walk struct {
	resolver *Resolver
	found    map[objectInterest][]objectInterest // the Objects that an interest leads to
	visited  map[objectInterest]bool
	from     map[objectInterest][]objectInterest // which visited Objects refer to an Object
}

func newWalk(r *Resolver) *walk {
	return &walk{
		resolver: r, found: map[objectInterest][]objectInterest{}, visited: map[objectInterest]bool{},
		from: map[objectInterest][]objectInterest{},
	}
}

// visit visits the Objects that an interest leads to, which it returns, and all that can be reached from them.
func (w *walk) visit(ctx context.Context, start objectInterest) ([]objectInterest, error) {
	first, todo, err := w.follow(ctx, start)
	for err == nil && len(todo) > 0 {
		o := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		at := objectInterest{NamespacedName: client.ObjectKeyFromObject(o.Object), kind: o.kind}
		for _, n := range w.resolver.neighbours(o.Object, o.kind) {
			var there []objectInterest
			var more []visited
			if there, more, err = w.follow(ctx, n); err != nil {
				break
			}
			todo = append(todo, more...)
			for _, t := range there {
				w.from[t] = append(w.from[t], at)
			}
		}
	}
	return first, err
}

// A visited Object is one whose references are still to be followed.
type visited struct {
	Object

	kind schema.GroupKind
}

// follow returns the Objects that an interest leads to, and which of them were not visited before.
func (w *walk) follow(ctx context.Context, n objectInterest) (there []objectInterest, fresh []visited, err error) {
	if known, ok := w.found[n]; ok {
		return known, nil, nil
	}
	objs, err := w.resolver.objects.lookup(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range objs {
		here := objectInterest{NamespacedName: client.ObjectKeyFromObject(o), kind: n.kind}
		there = append(there, here)
		if !w.visited[here] {
			w.visited[here] = true
			fresh = append(fresh, visited{Object: o, kind: n.kind})
		}
	}
	w.found[n] = there
	return there, fresh, nil
}

// toward returns, for each visited Object that leads to another, the next one on the shortest way.
func (w *walk) toward(home objectInterest) map[objectInterest]objectInterest {
	next := map[objectInterest]objectInterest{}
	for todo := []objectInterest{home}; len(todo) > 0; todo = todo[1:] {
		for _, o := range w.from[todo[0]] {
			if _, ok := next[o]; !ok {
				next[o] = todo[0]
				todo = append(todo, o)
			}
		}
	}
	return next
}

// pathFrom returns the way from the first of some Objects that leads home, both ends included, none if none does.
func pathFrom(starts []objectInterest, home objectInterest, next map[objectInterest]objectInterest) []objectInterest {
	for _, at := range starts {
		if _, leads := next[at]; !leads && at != home {
			continue
		}
		path := []objectInterest{at}
		for at != home {
			at = next[at]
			path = append(path, at)
		}
		return path
	}
	return nil
}

// neighbours returns the Objects that an Object refers to.
func (r *Resolver) neighbours(o Object, kind schema.GroupKind) []objectInterest {
	rules := Rules{GVK: r.objects.kinds[kind].GVK, Namespace: o.GetNamespace(), CrossNamespace: r.crossNamespace}
	var wants []objectInterest
	for _, ref := range Normalise(o.Desired(), rules) {
		if ref.Err != nil || !r.isObject(ref.GVK) {
			continue
		}
		wants = append(wants, r.want(&ref))
	}
	return wants
}
