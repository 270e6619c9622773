package secrets

import (
	"context"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const (
	valuesAtOnce    = 10 // names in a GetParameters request
	describedAtOnce = 50 // names in a DescribeParameters request
	current         = "AWSCURRENT"
)

// withSelector returns the name with the version or label, as Parameter Store expects it.
func (r *reference) withSelector() string {
	if r.selector == "" {
		return r.name
	}
	return r.name + ":" + r.selector
}

// parameter reads a parameter.
func (s *Secrets) parameter(ctx context.Context, c clients, r reference) (kept, error) {
	out, err := c.ssm.GetParameter(ctx,
		&ssm.GetParameterInput{Name: aws.String(r.withSelector()), WithDecryption: aws.Bool(true)})
	if err != nil {
		return kept{}, err
	}
	return keptOf(out.Parameter), nil
}

func keptOf(p *types.Parameter) kept {
	return kept{value: aws.ToString(p.Value), version: strconv.FormatInt(p.Version, 10)}
}

// parameterVersion returns the version of a parameter from its description. If the description is
// forbidden or lacks the version, parameterVersion reads the parameter without decryption.
func (s *Secrets) parameterVersion(ctx context.Context, c clients, r reference) (string, error) {
	if r.selector == "" && r.region == "" { // descriptions support neither labels nor ARNs
		found, err := describe(ctx, c.ssm, []string{r.name})
		if version, ok := found[r.name]; ok {
			return version, nil
		}
		if err != nil && awserr.Kind(err) != fault.Denied {
			return "", err
		}
	}
	out, err := c.ssm.GetParameter(ctx,
		&ssm.GetParameterInput{Name: aws.String(r.withSelector()), WithDecryption: aws.Bool(false)})
	if err != nil {
		return "", err
	}
	return keptOf(out.Parameter).version, nil
}

// describe returns the versions of parameters by name, and omits parameters that do not exist.
func describe(ctx context.Context, api *ssm.Client, names []string) (map[string]string, error) {
	out := map[string]string{}
	in := &ssm.DescribeParametersInput{MaxResults: aws.Int32(describedAtOnce),
		ParameterFilters: []types.ParameterStringFilter{
			{Key: aws.String("Name"), Option: aws.String("Equals"), Values: names}}}
	for {
		page, err := api.DescribeParameters(ctx, in)
		if err != nil {
			return out, err
		}
		for i := range page.Parameters {
			p := &page.Parameters[i]
			out[aws.ToString(p.Name)] = strconv.FormatInt(p.Version, 10)
		}
		if aws.ToString(page.NextToken) == "" {
			return out, nil
		}
		in.NextToken = page.NextToken
	}
}

// managed reads a secret of Secrets Manager.
func (s *Secrets) managed(ctx context.Context, c clients, r reference) (kept, error) {
	in := &secretsmanager.GetSecretValueInput{SecretId: &r.name}
	switch {
	case r.exact():
		in.VersionId = &r.selector
	case r.selector != "":
		in.VersionStage = &r.selector
	}
	out, err := c.manager.GetSecretValue(ctx, in)
	if err != nil {
		return kept{}, err
	}
	value := aws.ToString(out.SecretString)
	if out.SecretString == nil {
		if !utf8.Valid(out.SecretBinary) {
			return kept{}, fault.New(fault.Invalid, "", "the secret is binary and no text")
		}
		value = string(out.SecretBinary)
	}
	return kept{value: value, version: aws.ToString(out.VersionId)}, nil
}

// managedVersion returns the id of the version that has a stage.
func (s *Secrets) managedVersion(ctx context.Context, c clients, r reference) (string, error) {
	out, err := c.manager.DescribeSecret(ctx,
		&secretsmanager.DescribeSecretInput{SecretId: &r.name})
	if err != nil {
		return "", err
	}
	if out.DeletedDate != nil {
		return "", fault.New(fault.NotFound, "", "the secret is scheduled for deletion").
			WithHint("restore it, or take another")
	}
	want := r.selector
	if want == "" {
		want = current
	}
	for id, stages := range out.VersionIdsToStages {
		if slices.Contains(stages, want) || id == r.selector {
			return id, nil
		}
	}
	return "", fault.New(fault.NotFound, "", "no version of the secret has the stage %s", want)
}

// atOnce is how many requests are sent concurrently.
const atOnce = 8

// Prefetch implements state.SecretBatches. It reads parameters in batches, and the remaining
// secrets concurrently.
func (s *Secrets) Prefetch(ctx context.Context, refs []resource.Secret, values bool) {
	byRegion := map[string][]reference{}
	seen := map[string]bool{}
	var rest []resource.Secret
	for _, ref := range refs {
		r, err := parse(ref)
		if err != nil || r.scheme == schemeMachine || seen[r.text()] || s.kept(&r, values) ||
			(!values && r.exact()) {
			continue
		}
		seen[r.text()] = true
		if r.scheme == schemeSSM && (values || r.selector == "" && r.region == "") {
			byRegion[r.region] = append(byRegion[r.region], r)
		}
		rest = append(rest, ref)
	}
	for region, refs := range byRegion {
		c, err := s.clients(ctx, region)
		if err != nil {
			return
		}
		if values {
			for part := range slices.Chunk(refs, valuesAtOnce) {
				s.fetchValues(ctx, c, part)
			}
			continue
		}
		for part := range slices.Chunk(refs, describedAtOnce) {
			s.fetchVersions(ctx, c, part)
		}
	}
	var reads errgroup.Group
	reads.SetLimit(atOnce)
	for _, ref := range rest {
		if r, err := parse(ref); err != nil || s.kept(&r, values) {
			continue
		}
		reads.Go(func() error {
			if values {
				_, _, _ = s.Resolve(ctx, ref) // the caller's own read reports the error
			} else {
				_, _ = s.Version(ctx, ref)
			}
			return nil
		})
	}
	_ = reads.Wait()
	if !values {
		// Only versions that were fetched now. Extending versions that were cached before would
		// prevent their refresh for ever.
		s.prolong(rest)
	}
}

// prolong extends the cached versions for the following calls, however long the fetch took.
func (s *Secrets) prolong(refs []resource.Secret) {
	for _, ref := range refs {
		r, err := parse(ref)
		if err != nil {
			continue
		}
		s.mu.Lock()
		k, ok := s.versions[r.text()]
		s.mu.Unlock()
		if ok && k.err == nil {
			s.keep(s.versions, r.text(), k, versionKeep)
		}
	}
}

func (s *Secrets) kept(r *reference, values bool) bool {
	m := s.versions
	if values {
		m = s.values
	}
	_, ok := s.have(m, r.text())
	return ok
}

func (s *Secrets) fetchValues(ctx context.Context, c clients, refs []reference) {
	byName := map[string]*reference{}
	var names []string
	for i := range refs {
		// A second version of a parameter is read alone, because the results are matched by name.
		if byName[refs[i].name] == nil {
			byName[refs[i].name] = &refs[i]
			names = append(names, refs[i].withSelector())
		}
	}
	out, err := c.ssm.GetParameters(ctx,
		&ssm.GetParametersInput{Names: names, WithDecryption: aws.Bool(true)})
	if err != nil {
		return // each is read alone later, and reports its error
	}
	for i := range out.Parameters {
		p := &out.Parameters[i]
		r := byName[aws.ToString(p.Name)]
		if r == nil {
			r = byName[aws.ToString(p.ARN)]
		}
		if r != nil && (!r.exact() || r.selector == strconv.FormatInt(p.Version, 10)) {
			s.keep(s.values, r.text(), keptOf(p), s.config.Keep)
		}
	}
}

func (s *Secrets) fetchVersions(ctx context.Context, c clients, refs []reference) {
	var names []string
	for i := range refs {
		names = append(names, refs[i].name)
	}
	found, err := describe(ctx, c.ssm, names)
	if err != nil {
		return
	}
	for i := range refs {
		if v, ok := found[refs[i].name]; ok {
			s.keep(s.versions, refs[i].text(), kept{version: v}, versionKeep)
		}
	}
}
