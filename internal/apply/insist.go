package apply

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// messageStays says what to do about a manifest that a server refuses for the resource that is there.
const messageStays = "the target accepts the manifest for a new resource, but not for the existing one: revert the " +
	"change, or delete the resource on the target, and the provider recreates it from the manifest. This also deletes " +
	"what depends on the resource, such as the data of a PersistentVolumeClaim, or all resources of a " +
	"CustomResourceDefinition; a StatefulSet keeps its Pods with kubectl delete --cascade=orphan"

// messageStored says what to do about a version that leaves a CustomResourceDefinition while resources may be stored
// in it.
const messageStored = "resources may be stored in the version that leaves the manifest: keep the version, write each " +
	"of its resources once, and remove it from status.storedVersions first"

// Insist deals with a refusal of a manifest that is to be all of a resource. What others have updated and is in the way
// is cleared, and the manifest is sent again. If there is nothing, the error says what to do if the server would take
// the manifest for a new resource: a creation on a dry run is told what is invalid before what exists.
func (c Client) Insist(ctx context.Context, m Migration, refused error,
	send func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	m.InTheWay = causes(refused)
	if m.InTheWay == nil || m.Live == nil || !m.Owned {
		return nil, refused
	}
	switch now, err := c.Migrate(ctx, m); {
	case err != nil:
		return nil, err
	case now != nil:
		return send(now)
	}
	o := metav1.CreateOptions{FieldManager: c.Manager, DryRun: []string{metav1.DryRunAll}}
	_, err := c.Resources.Create(ctx, m.Manifest, o)
	alone := causes(err)
	if (alone != nil || apierrors.IsAlreadyExists(err) || IsQuotaExceeded(err)) &&
		slices.ContainsFunc(m.InTheWay, func(c metav1.StatusCause) bool {
			return !slices.ContainsFunc(alone, func(a metav1.StatusCause) bool { return a.Type == c.Type && a.Field == c.Field })
		}) {
		if slices.ContainsFunc(m.InTheWay,
			func(c metav1.StatusCause) bool { return c.Field == ".status.storedVersions" }) {
			return nil, errors.Wrap(refused, messageStored)
		}
		return nil, errors.Wrap(refused, messageStays)
	}
	return nil, refused
}

var (
	// immutable is what servers say of a change that they never make.
	immutable = regexp.MustCompile(`immutable|may not change once set|cannot change roleRef|updates to .* are forbidden`)
	// quoted is a name or a value in what a server says.
	quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)
)

// IsImmutable reports whether a server has refused a manifest as it never changes a field. What a
// ValidatingAdmissionPolicy forbids is no such refusal, whatever it says: whoever freezes a resource wants it to stay.
func IsImmutable(err error) bool {
	return apierrors.IsInvalid(err) && immutable.MatchString(quoted.ReplaceAllString(err.Error(), "")) &&
		!strings.Contains(err.Error(), "ValidatingAdmissionPolicy '")
}

// causesMost is how many causes of a refusal are looked at. A target may invent any number.
const causesMost = 100

// brackets name an item of a list in the name of a field.
var brackets = regexp.MustCompile(`\[[^\]]*\]`)

// causes returns what a server finds invalid, with fields as .spec.ports.name. It is one cause without a field if the
// server does not say.
func causes(err error) []metav1.StatusCause {
	var answer apierrors.APIStatus
	switch {
	case !errors.As(err, &answer):
		return nil
	case strings.HasPrefix(answer.Status().Message, "duplicate nodePort"): // A Service is refused with this text alone.
		return []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueDuplicate, Field: ".spec.ports.nodePort"}}
	case !apierrors.IsInvalid(err):
		return nil
	}
	found := []metav1.StatusCause{{}}
	if d := answer.Status().Details; d != nil && len(d.Causes) > 0 {
		found = slices.Clone(d.Causes[:min(len(d.Causes), causesMost)])
	}
	for i := range found {
		found[i].Field = "." + brackets.ReplaceAllString(found[i].Field, "")
		if found[i].Field == ".spec.conversion.webhookClientConfig" { // So it is called within the server.
			found[i].Field = ".spec.conversion.webhook"
		}
	}
	return found
}

// blocks reports whether a field that the manifest does not give is in its way: in an item that collides with one of
// the manifest, or in what the manifest gives and may not have both.
func (m Migration) blocks(f *finder, ours *fieldpath.Set, p fieldpath.Path) bool {
	name, inItem := []byte(nil), false
	for i, e := range p {
		if e.FieldName != nil {
			name = append(append(name, '.'), *e.FieldName...)
		}
		inItem = inItem || e.Key != nil
		for _, c := range m.InTheWay {
			last := max(strings.LastIndex(c.Field, "."), 0)
			if c.Field[:last] != string(name) {
				continue
			}
			in := fieldpath.PathElement{FieldName: new(c.Field[last+1:])}
			given := f.gives(m.Manifest.Object, p[:i+1])
			_, exact := f.find(m.Manifest.Object, p[:i+1]) // Or it differs in a key that the manifest leaves to a default.
			both := given && f.gives(m.Manifest.Object, append(p[:i+1:i+1], in))
			if e.Key != nil && !exact && !ours.Has(p[:i+1]) && m.collides(f, p[:i+1], in, c.Type) ||
				(given || c.Type == metav1.CauseTypeForbidden && !inItem) && !both && i+1 < len(p) && p[i+1].Equals(in) ||
				both && inItem && strings.Contains(c.Message, "may not ") {
				return true
			}
		}
	}
	return false
}

// collides reports whether an item that the manifest does not give has the value of one that the manifest gives, in a
// field of which each has its own, or stands beside one where each needs a name.
func (m Migration) collides(f *finder, item fieldpath.Path, in fieldpath.PathElement, why metav1.CauseType) bool {
	value, has := f.find(m.Live.Object, append(item[:len(item):len(item)], in))
	list, _ := f.find(m.Manifest.Object, item[:len(item)-1])
	items, _ := list.([]any)
	same := func(i any) bool {
		v, _ := f.step(i, in)
		return equality.Semantic.DeepEqual(v, value)
	}
	if why == metav1.CauseTypeFieldValueRequired { // The manifest is at fault if one of its own lacks it beside another.
		value = nil
		return *in.FieldName == "name" && (len(items) == 1 || !slices.ContainsFunc(items, same))
	}
	// What is invalid beside another is valid as it stands.
	return has && (why == metav1.CauseTypeFieldValueDuplicate || why == metav1.CauseTypeFieldValueInvalid) &&
		slices.ContainsFunc(items, same)
}
