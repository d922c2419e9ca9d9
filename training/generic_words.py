"""Words that say nothing about a paper's subject, in three strengths. Written by hand and by looking at what came out.

A phrase-like run of words ends at a word of CUTTING. A word of WEAK may stand inside a phrase, but no phrase consists of
such words alone: `language model` is one, `experimental results` is not. A word of COMMON is no phrase by itself.
"""

from __future__ import annotations

_FUNCTION = """
a about above across after again against ago all almost along already also although always am among amongst an and
another any anyone anything apart are around as at away be became because become becomes been before beforehand behind
being below beside besides between beyond both but by can cannot could despite did do does doing done down due during
each either else elsewhere enough especially et etc even ever every everything except few fewer for from further
furthermore had has have having he hence her here herein hers him his how however i ie eg if in indeed instead into is it
its itself just largely least less lot lots made mainly make makes making many may maybe me meanwhile might more moreover
most mostly much must my namely near nearly neither never nevertheless next no nobody none nonetheless nor not nothing now
of off often on once one ones only onto or other others otherwise ought our ours out over own per perhaps possibly quite
rather really s same several shall she should since so some something sometimes somewhat soon still such t than that the
their theirs them themselves then thence there thereby therefore therein these they thing things this those though
through throughout thus till to together too toward towards under underneath unless unlike until up upon us usually versus
very via vs was we well were what whatever when whenever where whereas whereby wherein whether which while who whoever
whole whom whose why will with within without would yes yet you your yours
two three four five six seven eight nine ten eleven twelve hundred hundreds thousand thousands million millions billion
billions dozen dozens half twice second seconds third fourth fifth first firstly secondly thirdly last lastly former latter
"""

_VERBS = """
accelerate accept accommodate accomplish account achieve acquire act adapt add address adopt advance affect afford aim
alleviate allow alter amount analyse analyze answer appear apply argue arise ask assert assess assign associate assume
attain attempt attribute augment avoid await base begin believe belong benefit bind boost break bring build calculate call
capture carry cause change characterise characterize choose claim clarify come combine compare compete complement complete
compose comprise compute conclude conduct confirm connect consider consist constitute constrain construct contain
continue contrast contribute convert correspond cover create cut date deal decide decline decrease deem define deliver
demand demonstrate denote depend deploy derive describe detect determine develop devise differ diminish disclose discover
discuss display distinguish drive elicit elucidate emerge emphasise emphasize employ enable encompass encounter encourage
enhance enrich ensure entail equip establish estimate evaluate evolve examine exceed execute exhibit exist expand expect
experience explain exploit explore expose express extend extract face facilitate fail fall feature feed fill find fit focus
follow force form formulate foster function fulfil gain gather generalise generalize generate get give go govern grow
guarantee guide hamper handle happen harbor help highlight hinder hold hope hypothesise hypothesize identify ignore
illustrate illuminate impact implement imply impose improve incorporate increase incur indicate induce infer inform inhibit
initiate inspire instantiate integrate intend introduce investigate involve isolate issue join keep know lack launch lead
learn leave let leverage lie limit link locate look lose lower maintain make manage match maximise maximize mean measure
mediate meet minimise minimize mitigate modify modulate monitor motivate move necessitate need obtain occur offer open
operate optimise optimize organise organize originate outline outperform overcome participate pave perform permit persist
play pose posit possess predict prefer prepare present preserve prevent proceed produce promote propose prove provide publish
pursue put quantify raise range reach read realise realize receive recognise recognize recommend reconstruct record recover
reduce refer refine reflect regard regulate relate release rely remain remedy remove render repeat replace report represent
reproduce require resemble reside resolve respond restore result retain return reveal review rise run satisfy say scale seek
seem select send serve set share shed show simplify solve speed stand start state stay stem streamline strengthen strive
study substantiate succeed suffer suffice suggest summarise summarize support surpass surround sustain tackle tailor take
target tell tend test train transform trigger try turn uncover undergo underlie underpin understand undertake unify unlock
unravel unveil update use utilise utilize validate vary verify view want warrant wish work yield
"""
_IRREGULAR = """
arisen arose became began begun bound broke broken brought built chose chosen came dealt drawn drew driven drove fallen
fell felt found gave given gone went got grew grown held kept knew known lain laid lay led left lost meant met overcame paved
proven put ran risen rose said seen saw seek sought sent set shed shown showed stood taken took thought told tried tries
undergone underwent underlying underlain understood undertaken written wrote drawn binding-induced studied studies applied
applies relied relies varied varies implied implies identified identifies modified modifies satisfied satisfies carried
carries unified unifies verified verifies quantified quantifies clarified simplified replied lies lying tied using used
"""
_NOUNS_TOO = """
advances analyses attributes augmented augmenting balance benefits binding bindings breaks building buildings
complement complements complex compute computing constraints contrast cut cuts date decline demand demands detection
drive experience experiences expression faces features feed feeding fit fitness fitting force forces form function
functions gain grow growing growth guide guided impact inform informed integrated issue issues join joins learned
learning leaves link linking match matching measure measuring mediated modeling monitoring open operating optimized
planning promoter prompt range rank ranking read reading record recording recordings records reference release
response results return review running scale scaled scales scaling set sets setting settings share shared sharing
speed starting state states stem stems studies study support target targeted targeting targets test testing train
trained training transform trigger understanding unified update updating view working
"""

_CUTTING = """
able absent abundant accordingly accurate acceptable actual actually additional adequate advanced ahead alike alone
alternatively amenable amid anew apparent apparently applicable appropriate approximately arguably asides available aware
bad based beneficial best better big both-ways brief briefly broad broader broadly capable careful careful carefully certain
challenging chiefly clear clearer clearly close closely closer common commonly comparable compared comparably comparatively
compelling comprehensive comprehensively concerning concomitant concrete conclusive confident considerable considerably
considering consistent consistently conspicuous contrary conversely corresponding costly critical critically crucial
crucially current currently depending desirable desired detailed different difficult diverse dramatic dramatically easier
easily easy effective effectively efficient efficiently elegant encouraging enormous entire entirely equal equally essential
essentially eventual eventually evident evidently exact exactly excellent exceptional exciting existing expensive explicitly
extensive extensively extreme extremely fast faster favorable feasible final finally fine finer firm fortunately
fruitful full fully fundamental fundamentally future general generally genuine given good great greater greatest greatly
growing handful hard harder hardly heavily helpful hidden-from high-quality higher highest highly hitherto huge ideal
immense immediately importance important importantly impressive inadequate including inconclusive increasing increasingly
independently individually inevitably inexpensive infeasible inherent inherently initial initially insightful insufficient
interesting interestingly intriguing intriguingly intuitive involving irrespective key lacking larger largest late later
latest leading lengthy less-than like likely likewise limited little long longer longest longstanding low lowest main major
majority massive meaningful mere merely minor minority modest more-or-less multiple namely naturally necessarily necessary
new newer newly notable notably noteworthy notion novel numerous nowadays obvious obviously occasionally old older
ongoing opposed original originally outstanding overall overly paramount partial partially particular particularly past
perfect pertinent pivotal plausible poor poorer poorly popular possible potentially powerful practical practically
precise precisely predominantly preliminary present-day presumably presumed prevailing prevalent previous previously
primarily primary principal prior prominent promising prone proper properly proposed proportional pure purely rapid rapidly
rare rarely readily ready reasonable reasonably recent recently reduced regarding regardless related relative relatively
relevant remarkable remarkably remaining renewed reputable requisite resulting rich richer rigorous rigorously
robustly rough roughly satisfactory scarce scarcely seemingly seldom separate separately serious severe severely significant
significantly similar similarly simple simpler simplest simply simultaneous simultaneously slight slightly slow slower
small smaller smallest so-called sole solely solid sophisticated sound special specific specifically standard steadily
straightforward striking strikingly strong stronger strongest strongly subsequent subsequently substantial substantially
subtle subtly successful successfully successive sufficient sufficiently suitable superior supplementary surprising
surprisingly susceptible systematic systematically tedious tight tightly time-consuming timely today tough traditional
traditionally tremendous true truly typical typically ultimate ultimately unable uncertain unclear underexplored unexpected
unexpectedly unexplored unfortunately unimportant unique uniquely unknown unlikely unnecessary unprecedented unrelated
unresolved unseen useful usual vague valid valuable various vast viable virtually vital weak weaker well-known
well-established wide widely wider widespread wise worse worst worth worthwhile wrong yielding
mm cm nm kg mg ml ms hz khz mhz ghz db kb mb gb tb min hr hrs sec wt vol
january february march april june july august september october november december
ii iii iv vi vii viii ix http https www github com org al ca cf fig figs eq eqs sec pp respectively copyright
"""

_WEAK = """
ability absence abstract accuracy achievement addition advance advantage agreement aid alternative amount analytical
angle approach area argument arrangement art article aspect assessment assistance assumption author automatic
availability average background barrier baseline basic basis benchmark benefit bottleneck breadth calculation
capability case case-by-case category cause center centre challenge chance change characteristic characterization
choice circumstance clarity combination comparison complex component concern conclusion confidence consequence
consideration constant construction contrast contribution conventional correct count couple criterion current date day
deal decade decline decrease deficiency definition degree demand demonstration deployment derivation description
detail development deviation difference difficulty direction disadvantage discussion disparity distinct distinction
dominant doubt downstream drawback drop duration ease effectiveness efficacy efficiency effort emergence emphasis
empirical end end-to-end enhancement equivalent era evidence examination example exception exercise existence
expectation experimental explanation exploration extended extension extent extra fact fashion feasibility figure
finding flexibility flexible follow-up formal format foundation fraction framework fresh functionality gain gap goal
grade great group guarantee guidance guideline hand help high-level hour idea identical impact implementation
implication importance improvement incidence inclusion increase indication initiative inner insight inspiration
instance institution interest interpretation intrinsic introduction investigation issue journal kind lack large-scale
lead level lightweight limit limitation line list literature long-term low-level man manner manual mark max meaning
means medium member method methodology min minute moderate modern modification modular moment month motivation
multiple mutual nature need note novelty number objective obstacle occurrence opinion opportunity option origin
outcome outer overhead overview paper paradigm part participant people percent percentage performance period person
perspective phenomenon picture piece place portion possibility possible practice practitioner precise presence
presentation principle priority problem professional progress promise proportion proposal prospect publication purpose
qualitative quality quantitative range ratio rationale real real-world reality realm reason recommendation reduction
release relevance reliability reliable replacement report representative requirement research researcher respect
respondent responsible restriction result resulting review rich right rise role round run scalable scenario scheme
scholar scientific scientist scope score secondary sector setting setup shared short-term show side sign significance
situation size small-scale solution sort sota special specification staff stakeholder standard state-of-the-art
statement strength strict study subjective success suggestion suite sum summary superiority support table target
technical technique technology temporary tendency theme theoretical thought title total trade-off tradeoff traditional
trend triple truth turn type understanding upstream usage use useful validity value variety version visible vulnerable
way week wide-range work workflow year young
"""

_COMMON = """
action activity age algorithm analysis application attention audio balance behavior binary body book brain candidate
capacity cell cells class classical coefficient collection community company complete complexity composition computer
concept condition configuration consistency constraint content context continuous control core correlation cost
country coverage curve data database dataset deep default density dependence depth design detection diagnosis
dimension direct discovery discrete distance diversity document domain double dual dynamic early effect element entity
environment equation error estimate estimation evaluation event evolution expansion experience experiment expert
expression external factor failure family feature feedback field finite fixed flow form formation free frequency
function functional gene generation generic global growth head height high history home house human hybrid hypothesis
identification identity image independent index individual industry inference influence information input integration
interaction interactive internal intervention item iterative joint judgment knowledge label language large law layer
learning length life light linear link local location loss low lower machine magnitude maintenance management map
margin material mathematical maximum mean measure measurement mechanism metric mid middle minimum mode model modeling
module motion multi name natural negative network neuron non normal object observation open operation optimal order
organization output pair parallel parameter particle passive path patient patients pattern peak perception phase
physical pipeline plan platform point policy population position positive potential precision prediction preference
pressure probability procedure process processing product production project proof property protein protocol public
quantity query question random rate raw recall recognition reference region relation relationship representation
request resolution resource response reward risk robust robustness root rule sample scale schedule science search
section selection selective sense sensitive sensitivity sequence sequential series service session set shape share
shift short signal similarity simulation single site skill society software source space span specificity speed split
stability stable stage state static statistic status step strategy stress structural structure structured student
style subject subset surface survey symmetric system task team term test testing text theory threshold time tool top
topic training trial trust uniform unit universal update upper user utility validation variable variant variation
vehicle video view virtual visual volume weight word world
"""


def _forms(verb: str) -> set[str]:
    """-s, -ed and -ing of a regular verb, by the rules of spelling; doubled consonants too, since a few verbs do so."""
    if verb.endswith("e"):
        return {verb, verb + "s", verb + "d", verb[:-1] + "ing"}
    if verb.endswith("y") and verb[-2] not in "aeou":
        return {verb, verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"}
    end = "es" if verb.endswith(("s", "x", "ch", "sh")) else "s"
    return {verb, verb + end, verb + "ed", verb + "ing", verb + verb[-1] + "ed", verb + verb[-1] + "ing"}


FUNCTION = frozenset(_FUNCTION.split())
_VERB_FORMS = {form for verb in _VERBS.split() for form in _forms(verb)} | set(_IRREGULAR.split())
CUTTING = FUNCTION | (_VERB_FORMS - set(_NOUNS_TOO.split())) | set(_CUTTING.split())
WEAK = frozenset(_WEAK.split())
COMMON = frozenset(_COMMON.split())
SPLITTING = frozenset("based related like oriented associated".split())
"""Cut even behind a hyphen: what is `transformer-based` is about transformers."""

ADJECTIVE_ENDS = ("ous", "ful", "less", "able", "ible", "al", "ive", "ic", "ical", "est")
"""Endings that no phrase ends with, but for the words below."""
NOUNS_LIKE_ADJECTIVES = frozenset(
    """
    signal animal retrieval approval arrival journal hospital proposal removal renewal survival interval metal crystal
    mammal arousal goal potential material capital trial tutorial manual rival pedal portal spiral integral polynomial
    multinomial fractal differential residual editorial terminal canal withdrawal appraisal dual principal festival
    objective perspective archive derivative additive narrative drive hive incentive alternative initiative cooperative
    adjective directive table variable cable observable wearable deliverable timetable executable vegetable
    metric topic logic music traffic clinic mosaic graphic heuristic arithmetic fabric plastic critic rubric logistic
    antibiotic psychedelic statistic characteristic schematic panic epidemic pandemic arctic ceramic mimic probiotic
    diagnostic synthetic interest forest test request digest harvest nest quest guest pest conquest contest rest
    analytic republic magic picnic electronic collective detective captive relative native portable syllable capital
    total deal meal dial appeal reveal oral coral moral neutral central chemical pharmaceutical vertical musical
    professional individual original criminal nominal aerosol ethical sepal petal sandal
    """.split()
) - {"ethical", "neutral", "central", "nominal", "oral", "vertical", "total"}
NOUNS_LIKE_ADVERBS = frozenset(
    "assembly family anomaly supply fly butterfly jelly belly ally reply poly gly italy".split()
)
NOUNS_LIKE_PARTICIPLES = frozenset(
    "seed feed need speed breed embed bed weed reed shed seaweed inbred hatred biped".split()
)

COMPOUNDS = frozenset(
    """
    state-of-the-art high-quality low-quality large-scale small-scale real-world end-to-end real-time long-term
    short-term well-known so-called time-consuming cutting-edge cost-effective high-performance low-cost wide-ranging
    ever-growing far-reaching long-standing high-level low-level fine-grained coarse-grained day-to-day plug-and-play
    publicly-available task-specific domain-specific large-sized medium-sized one-to-one case-by-case step-by-step
    """.split()
)
"""Compounds that are cut like single words of CUTTING."""

PHRASES = frozenset(
    """
    state of the art|end to end|real world|large scale|small scale|long term|short term|follow up|trade off|case study
    time point|data point|data set|single model|open source|open question|plug and play|ground truth|proof of concept
    source code|code release|web site|supplementary material|future research|related work|research question
    """.replace("\n", "|").split("|")
)
"""Terms by every count, and still no subject of a paper."""
