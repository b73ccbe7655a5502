package objectsync

import (
	"encoding/base64"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// holding tells of a related object of this primary.
func (p *pass) holding(r Record) Holding {
	return Holding{Primary: p.me(), State: p.stateName(), Record: r}
}

// taken reports whether the copy of a related object would be one that another workspace has.
func (p *pass) taken(r Record) bool {
	if r.Origin == v1alpha1.OriginService {
		return false // Each workspace has its own.
	}
	return slices.ContainsFunc(p.Holders.Holdings("", r.To),
		func(h Holding) bool { return h.Kept && h.Primary.Cluster != p.id.Cluster })
}

// claimed reports whether another workspace has a related object, or refers to one that does not tell that it is for
// this primary.
func (p *relatedSync) claimed(m relation) bool {
	all := p.Holders.Holdings(clusterOf(m.copyRule.origin, p.id.Cluster), m.from)
	return slices.ContainsFunc(all, func(h Holding) bool {
		return h.Primary.Cluster != p.id.Cluster && (h.Kept || !p.owns(m.origin))
	})
}

// holdings returns what this object has or makes of a related object or, not mine, what others of the workspace do.
func (p *pass) holdings(r Record, mine bool) []Holding {
	state, all := p.stateName(), p.Holders.Holdings(clusterOf(r.Origin, p.id.Cluster), r.From)
	return slices.DeleteFunc(all, func(h Holding) bool {
		return (h.State == state) != mine || h.Primary.Cluster != p.id.Cluster || h.origin() != r.origin()
	})
}

// others returns the copies of a related object that other objects of the workspace keep.
func (p *pass) others(r Record) []Holding {
	return slices.DeleteFunc(p.holdings(r, false), func(h Holding) bool { return !h.Kept || h.Primary.Name == "" })
}

// shares reports whether another object of the workspace has the same copy of the same related object.
func (p *pass) shares(r Record) bool {
	return slices.ContainsFunc(p.others(r), func(h Holding) bool { return h.plain() == r.plain() })
}

// alike returns what other objects of the workspace have or make of the same copy of the same related object, as far as
// that is known.
func (p *pass) alike(r Record) []Holding {
	return slices.DeleteFunc(p.holdings(r, false), func(h Holding) bool { return h.plain() != r.plain() })
}

// awaited is the error that a copy is there which is not shown yet. It is a conflict, of which nobody is told.
func awaited(to Ref) error {
	return apierrors.NewConflict(to.GVR().GroupResource(), to.Name, errors.New("the watch does not show it yet"))
}

// drop tells the holders that this object no longer uses a copy. Who does so before it looks whether others do sees, of
// two at a time, that nobody else is left.
func (p *pass) drop(r Record) {
	for _, h := range p.holdings(r, true) {
		if h.plain() == r.plain() {
			p.Holders.Drop(h)
		}
	}
}

// slotIn returns what a state remembers of an object, nil if it is not remembered there. It reads nothing else of it.
func slotIn(secret *unstructured.Unstructured, o subject) []byte {
	if secret == nil {
		return nil
	}
	data, _, _ := unstructured.NestedFieldNoCopy(secret.Object, "data")
	for _, key := range []string{o.ownKey(), o.agentsKey()} {
		encoded, _ := asMap(data)[key].(string)
		if b, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(b) > 0 && kindIn(b) == o.kind {
			return b
		}
	}
	return nil
}
