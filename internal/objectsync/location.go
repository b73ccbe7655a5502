package objectsync

import (
	"path"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// ErrClosed means that a value of the consumer names what does not belong to its workspace, and what the service owner
// has not opened.
var ErrClosed = errors.Wrap(ErrForeign, "spec.related[].consumerMayName does not open it")

// reserved are namespaces of a service cluster that no rule leads to.
var reserved = []string{"kube-system", "kube-public", "kube-node-lease"}

// located is what is known of where a related object is on the service cluster.
type located struct{ name, namespace provenance.Value }

// copyProvenance tells who decides on the name and the namespace of the copy: the rules for names if these yield what
// the copy has. A name that is not unique counts as entered: another workspace, or an earlier consumer, may have had
// the same one.
func (p *pass) copyProvenance(copied *unstructured.Unstructured) (name, namespace provenance.Value) {
	is, err := p.namer.Name(p.naming())
	name, namespace = p.namer.Provenance()
	if err != nil || is.Name != copied.GetName() || !name.Unique {
		name = provenance.Entered
	}
	switch {
	case copied.GetNamespace() == p.id.Cluster:
		namespace = provenance.Assigned // By the default, which may be that of an earlier spec.
	case err != nil, is.Namespace != copied.GetNamespace():
		namespace = provenance.Entered
	}
	return name, namespace
}

// copyField tells who decides on a field of the copy.
func (p primaries) copyField(path ...string) provenance.Value {
	switch strings.Join(path, ".") {
	case "metadata.name":
		return p.copyName
	case "metadata.namespace":
		return p.copyNamespace
	case "metadata.uid":
		if p.service.GetUID() != "" {
			return provenance.Assigned
		}
	}
	return provenance.Entered
}

// field tells who decides on a field that templates of related objects see.
func (p primaries) field(path ...string) provenance.Value {
	switch path[0] {
	case "ClusterName":
		return provenance.Assigned
	case "Side":
		return provenance.Fixed
	case "Object", "LocalObject":
		return p.copyField(path[1:]...)
	case "RemoteObject":
		if strings.Join(path[1:], ".") == "metadata.uid" {
			return provenance.Assigned
		}
	}
	return provenance.Entered
}

func (p primaries) context() provenance.Context {
	return provenance.Context{Of: p.field, Side: string(v1alpha1.OriginService)}
}

// provenance tells who decides on which objects the labels select. One label that no other workspace can have is
// enough.
func (s *selector) provenance(c provenance.Context) provenance.Value {
	out := provenance.Fixed
	for _, l := range s.matchLabels {
		for _, v := range []provenance.Value{l.key.origin.Value(c), l.value.origin.Value(c)} {
			out.Source, out.Unique = max(out.Source, v.Source), out.Unique || v.Unique
		}
	}
	return out
}

// rewritten tells who decides on the name that a selector gives a copy.
func (s *selector) rewritten(c provenance.Context) provenance.Value {
	if s.template == nil {
		return s.regex.of(provenance.Entered)
	}
	return s.template.origin.Value(c)
}

// whole are patterns of one group that is the whole text.
var whole = []string{"(.+)", "(.*)", "^(.+)$", "^(.*)$"}

// of returns who decides on what is made of a text. Nil changes nothing.
func (r *regex) of(v provenance.Value) provenance.Value {
	if r == nil {
		return v
	}
	if r.pattern == "" && !strings.ContainsAny(r.replacement, `$\`) || v == provenance.Fixed {
		return provenance.Fixed
	}
	for _, group := range []string{"${1}", `\1`} {
		before, after, ok := strings.Cut(r.replacement, group)
		if ok && slices.Contains(whole, r.pattern) && !strings.ContainsAny(before+after, `$\`) {
			return provenance.Join(provenance.Text(before), provenance.Of(v), provenance.Text(after))
		}
	}
	return provenance.Entered
}

// provenance tells who decides on the names that the field of the copy holds, which are given. What somebody on the
// service cluster has written into the copy may have come from the consumer.
func (r *reference) provenance(p primaries, names []string) ([]provenance.Value, error) {
	out := make([]provenance.Value, len(names))
	for i := range out {
		out[i] = provenance.Entered
	}
	field := strings.Split(r.path.String(), ".")
	if field[0] == "metadata" {
		for i := range out {
			out[i] = r.regex.of(p.copyField(field...))
		}
		return out, nil
	}
	v := p.mutations.Provenance(r.path, p.copyField)
	if v == provenance.Entered || p.target == nil {
		return out, nil
	}
	made, err := r.mutated(p)
	for i := range out {
		if len(made) == len(names) && made[i] == names[i] {
			out[i] = r.regex.of(v)
		}
	}
	return out, err
}

// mutated returns the names in what the mutation makes of the object of the workspace.
func (r *reference) mutated(p primaries) ([]string, error) {
	u, err := p.mutations.Spec(p.workspace, p.target)
	if err != nil {
		return nil, err
	}
	return r.names(u)
}

// checkLocation refuses a related object if the consumer has named it and it does not belong to the workspace.
func (p *relatedSync) checkLocation(m relation) error {
	below, u := m.below()
	open, err := p.isOpenNamespace(m, below.Namespace)
	if err != nil {
		return err
	}
	if !open {
		return errors.Wrapf(ErrClosed, "namespace %s of %s", below.Namespace, below)
	}
	switch {
	case m.at.isOwn(), m.at.name.Source == provenance.Provider:
		return nil
	case u != nil && p.both.own(u), matches(m.mayName.Objects, below.Name, p.id.Cluster):
		return nil
	}
	return errors.Wrapf(ErrClosed, "%s", below)
}

// isOwn reports whether no other workspace can have objects there.
func (l located) isOwn() bool { return l.name.Unique || l.namespace.Unique }

// isOpenNamespace reports whether related objects may be in a namespace of the service cluster.
func (p *relatedSync) isOpenNamespace(m relation, namespace string) (bool, error) {
	switch {
	case namespace == "", namespace == p.both.service.GetNamespace():
		return true, nil
	case slices.Contains(reserved, namespace), namespace == p.stateNamespace:
		return false, nil
	case m.at.namespace.Unique, m.at.namespace.Source == provenance.Provider:
		return true, nil
	case !matches(m.mayName.Namespaces, namespace, p.id.Cluster):
		return false, nil
	}
	return p.isFreeOfOthers(namespace)
}

// isFreeOfOthers reports whether a namespace has copies of this workspace, or none of any. A pass looks once at each.
func (p *relatedSync) isFreeOfOthers(namespace string) (free bool, err error) {
	if free, known := p.free[namespace]; known {
		return free, nil
	}
	owners, err := p.Holders.Workspaces(namespace)
	if err == nil {
		p.free[namespace] = len(owners) == 0 || slices.Contains(owners, p.id.Cluster)
	}
	return p.free[namespace], err
}

// matches reports whether the service owner has opened a name.
func matches(patterns []v1alpha1.NamePattern, name, cluster string) bool {
	return slices.ContainsFunc(patterns, func(p v1alpha1.NamePattern) bool {
		ok, err := path.Match(strings.ReplaceAll(string(p), "$remoteClusterName", cluster), name)
		return ok && err == nil
	})
}

// checkLook refuses to look for a related object in a namespace of the service cluster that is closed to it, or that
// would be one too many: each namespace is a watch. What was copied before is looked at wherever it is. An error means
// that it is not known.
func (p *relatedSync) checkLook(m relation) (refused, err error) {
	below, _ := m.below()
	namespace := below.Namespace
	if namespace == "" || namespace == p.both.service.GetNamespace() || p.source.GetDeletionTimestamp() != nil ||
		p.recorded(m) || p.copiedByAgent(m) {
		return nil, nil
	}
	open, err := p.isOpenNamespace(m, namespace)
	if err != nil {
		return nil, err
	}
	if !open {
		return errors.Wrapf(ErrClosed, "namespace %s of %s", namespace, below), nil
	}
	return p.checkNamespaces(namespace), nil
}

// checkNamespaces fails if a namespace of the service cluster would be one too many.
func (p *relatedSync) checkNamespaces(namespace string) error {
	if p.MayLook == nil || p.MayLook(namespace) {
		return nil
	}
	return ErrTooManyNamespaces
}

// checkSelect returns what is asked before related objects are selected: no selector looks at a namespace of the
// service cluster that is one too many.
func (p *relatedSync) checkSelect(r *related) func(namespace string) error {
	return func(namespace string) error {
		if r.origin != v1alpha1.OriginService || p.source.GetDeletionTimestamp() != nil || namespace == "" ||
			namespace == p.both.service.GetNamespace() {
			return nil
		}
		return p.checkNamespaces(namespace)
	}
}
