package object

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/connectiondetail"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// purposeDetails are the resources on the target that connection details come from.
const purposeDetails informer.Purpose = "details"

// details are what is to be in a connection secret.
type details struct {
	owner   informer.Owner
	secret  types.NamespacedName
	values  map[string][]byte // by key
	missing []string          // keys that have no value now, and keep the one they had
}

// A detailsReader reads what is to be in the connection secret of an Object.
type detailsReader struct{ *remote }

// gather reads the connection details of an Object. One that is missing makes the Object not ready and does no other
// harm. The error satisfies informer.IsNotSynced as long as a watch has not begun.
func (e detailsReader) gather(ctx context.Context, o Object) error {
	e.pass.details = nil
	secret := o.ConnectionSecret()
	if secret.Name == "" {
		e.cluster.Watches().Track(e.owner, purposeDetails)
		e.local.Watches().Track(e.owner, purposeConnection)
		return nil
	}
	if _, err := seeConnectionSecret(ctx, e.local, e.owner, secret); err != nil {
		return err
	}
	wanted := o.Desired().ConnectionDetails
	found, err := e.origins(ctx, wanted)
	if err != nil {
		return errors.Wrap(err, "cannot get connection details")
	}
	d := &details{owner: e.owner, secret: secret, values: map[string][]byte{}}
	var lacks []string
	for _, w := range wanted {
		value, err := found[originOf(w)].value(w)
		if err != nil {
			d.missing = append(d.missing, w.ToConnectionSecretKey)
			lacks = append(lacks, fmt.Sprintf("%s (%v)", w.ToConnectionSecretKey, err))
			continue
		}
		d.values[w.ToConnectionSecretKey] = value
	}
	e.pass.details = d
	if len(lacks) > 0 {
		e.pass.unready("Connection details are missing: " + strings.Join(lacks, ", "))
	}
	return nil
}

// gatherApplied reads the connection details of an Object whose manifest has just been applied, which is no failure if
// a watch has not begun: the Object is woken when it has. One that was ready, as those of an earlier provider are,
// counts as ready until then.
func (e detailsReader) gatherApplied(ctx context.Context, o Object) error {
	err := e.gather(ctx, o)
	if !informer.IsNotSynced(err) {
		return err
	}
	if last := e.pass.quiet.Last(); last == nil || !isReady(last) {
		e.pass.unready("Connection details are not read yet")
	}
	return nil
}

// unready makes the verdict of a pass that the Object is not ready, for one more reason.
func (p *pass) unready(why string) {
	v := *p.verdict
	if v.Message != "" {
		why = v.Message + "; " + why
	}
	v.Ready, v.Message = false, why
	p.verdict = &v
}

// value takes a detail from its source. The error says to users why there is none.
func (s origin) value(d commonv1.ConnectionDetail) ([]byte, error) {
	if problems := validation.IsConfigMapKey(d.ToConnectionSecretKey); len(problems) > 0 {
		return nil, errors.Errorf("toConnectionSecretKey %q is no key of a Secret", d.ToConnectionSecretKey)
	}
	switch {
	case s.lack != "":
		return nil, errors.New(s.lack)
	case s.live == nil:
		return nil, errors.Errorf("%s does not exist", s.id)
	}
	v, err := connectiondetail.Value(s.live, d.FieldPath)
	return v, errors.Wrap(err, s.id.String())
}

// origins looks at all resources that details come from, each once.
func (e detailsReader) origins(ctx context.Context, wanted []commonv1.ConnectionDetail) (map[originID]origin, error) {
	ids := distinct(wanted)
	served, err := e.cluster.Mappings(ctx, e.owner, purposeDetails, kindsOf(ids)...)
	if err != nil {
		return nil, err
	}
	found := make(map[originID]origin, len(ids))
	interests := make([]informer.Interest, 0, len(ids))
	for _, id := range ids {
		s := e.locateOrigin(id, served)
		found[id] = s
		if s.watched() {
			interests = append(interests, s.interest)
		}
	}
	e.cluster.Watches().Track(e.owner, purposeDetails, interests...)
	for _, id := range ids {
		if found[id], err = e.seeOrigin(ctx, found[id]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// locateOrigin finds where on the target an origin lives.
func (e detailsReader) locateOrigin(id originID, served map[schema.GroupVersionKind]target.Mapping) origin {
	m, ok := served[id.gvk]
	s := origin{id: id, watchable: m.Watchable, interest: informer.Interest{
		Resource: m.Resource, NamespacedName: id.NamespacedName, Stream: informer.StreamByName,
	}}
	if !m.Namespaced {
		s.interest.Namespace = ""
	}
	switch {
	case id.Name == "":
		s.lack = "name is not set"
	case !ok:
		s.lack = fmt.Sprintf("target does not serve kind %s of %s", id.gvk.Kind, id.gvk.GroupVersion())
	case m.Namespaced && id.Namespace == "":
		s.lack = fmt.Sprintf("namespace is not set, and kind %s is namespaced", id.gvk.Kind)
	}
	s.own = s.lack == "" && m == e.mapping && s.interest.NamespacedName == name(e.manifest)
	return s
}

// seeOrigin looks at an origin. That it may not be read is a lack of the detail and not a failure.
func (e detailsReader) seeOrigin(ctx context.Context, s origin) (origin, error) {
	var err error
	switch {
	case s.lack != "":
	case s.own:
		s.live = e.live
	case s.watchable:
		s.live, err = e.cluster.Get(ctx, e.owner, s.interest)
	default:
		s.live, err = e.cluster.Read(ctx, s.interest)
	}
	if apierrors.IsForbidden(err) {
		s.lack, err = fmt.Sprintf("the target forbids to get %s", s.id), nil
	}
	return s, err
}

func kindsOf(ids []originID) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, id := range ids {
		if !slices.Contains(kinds, id.gvk) {
			kinds = append(kinds, id.gvk)
		}
	}
	return kinds
}

// An originID names a resource on the target that connection details come from, as they write it.
type originID struct {
	types.NamespacedName

	gvk schema.GroupVersionKind
}

// String names the resource for users.
func (id originID) String() string {
	if id.Namespace == "" {
		return id.gvk.Kind + " " + id.Name
	}
	return id.gvk.Kind + " " + id.Namespace + "/" + id.Name
}

// An origin is what is known of such a resource.
type origin struct {
	id        originID
	interest  informer.Interest
	own       bool                       // it is the resource of the manifest, which is looked at anyhow
	watchable bool                       // the target can watch it
	lack      string                     // why it cannot be looked at, empty if it can
	live      *unstructured.Unstructured // shared with the watch; nil if it does not exist
}

// watched reports whether it takes a watch of its own to look at the source.
func (s origin) watched() bool { return s.lack == "" && !s.own && s.watchable }

func originOf(d commonv1.ConnectionDetail) originID {
	return originID{
		NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: d.Name},
		gvk:            schema.FromAPIVersionAndKind(d.APIVersion, d.Kind),
	}
}

// distinct returns the sources of details, each once, in the order in which they occur.
func distinct(wanted []commonv1.ConnectionDetail) []originID {
	var ids []originID
	for _, w := range wanted {
		if id := originOf(w); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
